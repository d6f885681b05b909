package vqtrain

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// resetConfig resets at step 12, once, codes that drew nothing since the start.
func resetConfig(t *testing.T, method string) Config {
	c := tiny(t, method)
	c.Quantizer.Resets = vq.Resets{Every: 12, Threshold: 0, Window: 1, Until: 1}
	c.Train.Average = 0.9
	return c
}

// banish moves usable codes far away, so that nothing chooses them.
func banish(t *testing.T, trainer *Trainer, position int, codes ...int) {
	t.Helper()
	set := read(t, trainer)
	path := "quantizer/" + trainer.model.Quantizer.Layout().Path(position)
	moved := weights.Set{}
	variables := []string{"codes", "state/sums", "state/counts"}
	if trainer.config.Quantizer.Learn == "frozen" {
		variables = []string{"mixer/a"}
	}
	for _, name := range variables {
		if a, ok := set[path+"/"+name]; ok {
			moved[path+"/"+name] = a
			for _, code := range codes {
				for j := range a.Row(code) {
					a.Row(code)[j] = float32(1000 + 10*code + j)
				}
				if name == "state/counts" {
					a.Data[code] = 1
				}
			}
		}
	}
	if err := trainer.bank.Install(moved); err != nil {
		t.Fatal(err)
	}
}

// A dead code moves onto a latent and is chosen again; its moments, averages
// and running sums start anew; the usable codes beside it keep every bit.
func TestResetSticksAndTouchesNoOtherCode(t *testing.T) {
	grit := resetConfig(t, "grit")
	ema := resetConfig(t, "ema")
	frozen := resetConfig(t, "grit")
	frozen.Quantizer.Learn, frozen.Quantizer.Transform.Joint = "frozen", false
	frozen.Quantizer.Transform.Rank = 8
	adagrad := resetConfig(t, "grit")
	adagrad.Train.Optimizer.Name = "adagrad"
	cached := resetConfig(t, "grit")
	cached.Quantizer.Cache = vq.Cache{Period: 5, Gradient: "accumulate"}
	product := resetConfig(t, "grit")
	product.Quantizer.Parts = 2
	for name, c := range map[string]Config{
		"grit": grit, "ema": ema, "frozen": frozen, "adagrad": adagrad, "cached": cached, "product": product,
	} {
		t.Run(name, func(t *testing.T) { resetSticks(t, c, c.Quantizer.Parts*c.Quantizer.Levels-1) })
	}
}

func resetSticks(t *testing.T, c Config, position int) {
	const code = 5
	trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
	for i := range 11 {
		if err := step(t, trainer, i); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			banish(t, trainer, position, code)
		}
	}
	w := trainer.state.Window
	for p := range w.Previous { // all codes but one were in use
		w.forget(p)
		for k := range w.Previous[p] {
			w.Previous[p][k] = 10
		}
		w.Settled[p] = 80
	}
	w.Previous[position][code] = 0
	before, booksBefore := read(t, trainer), usable(t, trainer)
	if err := trainer.maybeReset(&train.Step{Record: &train.Record{Step: 12}, Inputs: inputs(t, trainer, 11)}); err != nil {
		t.Fatal(err)
	}
	if trainer.record.Reset != 1 || trainer.state.Resets != 1 {
		t.Fatalf("%d codes were reset, want 1", trainer.record.Reset)
	}
	after, booksAfter := read(t, trainer), usable(t, trainer)
	for p, book := range booksAfter {
		for i := range book.Shape[0] {
			moved := firstDifference(book.Row(i), booksBefore[p].Row(i)) >= 0
			if moved != (p == position && i == code) {
				t.Errorf("code %d of position %d moved: %v", i, p, moved)
			}
		}
	}
	checkRows(t, c, "quantizer/"+trainer.model.Quantizer.Layout().Path(position), code, before, after)
	chosen := false
	for i := range 10 {
		if err := step(t, trainer, 12+i); err != nil {
			t.Fatal(err)
		}
		chosen = chosen || trainer.state.Window.counts(position)[code] > 0
	}
	if !chosen {
		t.Error("the reset code is never chosen")
	}
}

func usable(t *testing.T, trainer *Trainer) []*weights.Array {
	t.Helper()
	books, err := trainer.currentBooks()
	if err != nil {
		t.Fatal(err)
	}
	return books
}

// checkRows compares every variable before and after the reset: only rows of the
// code changed, its moments are as at the start, and its shadows follow it.
func checkRows(t *testing.T, c Config, path string, code int, before, after weights.Set) {
	t.Helper()
	cleared := 0
	for _, p := range after.Paths() {
		if strings.HasSuffix(p, "state/cache") {
			continue // rebuilt from all parameters
		}
		a := after[p]
		own := strings.Contains(p, path+"/") && (strings.HasSuffix(p, "/codes") || strings.HasSuffix(p, "/mixer/a") ||
			strings.HasSuffix(p, "/counts") || strings.HasSuffix(p, "/sums") || strings.HasSuffix(p, "/cache_gradient"))
		for i := range a.Shape[0] {
			if !(own && i == code) && firstDifference(a.Row(i), before[p].Row(i)) >= 0 {
				t.Errorf("row %d of %s changed", i, p)
			}
		}
		parameter := after[strings.TrimPrefix(p, "average/")]
		var want []float32
		switch {
		case !own:
			continue
		case strings.HasPrefix(p, "optimizer/"):
			start := c.Train.Optimizer.Slots()[0].Start // the same for all slots of these rules
			want = weights.Full(start, len(a.Row(code))).Data
		case strings.HasPrefix(p, "average/"):
			want = parameter.Row(code)
		case strings.HasSuffix(p, "/counts"):
			want = []float32{1}
		case strings.HasSuffix(p, "/sums"):
			want = after[path+"/codes"].Row(code)
		case strings.HasSuffix(p, "/cache_gradient"):
			want = make([]float32, len(a.Row(code)))
		default:
			continue
		}
		cleared++
		if firstDifference(a.Row(code), want) >= 0 {
			t.Errorf("%s holds %v, want %v", p, a.Row(code), want)
		}
	}
	if cleared < 2 {
		t.Errorf("only %d shadows of the code were found", cleared)
	}
}

// More dead codes than latents in a batch: as many as there are latents move
// now, the others at a later scan.
func TestMoreDeadCodesThanLatents(t *testing.T) {
	c := tiny(t, "ste")
	c.Quantizer.Levels, c.Quantizer.Codes, c.Train.Batch = 1, 40, 3
	c.Quantizer.Resets = vq.Resets{Every: 20, Threshold: 0, Window: 1, Until: 1}
	c.Train.Steps = 1000
	trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
	if err := step(t, trainer, 0); err != nil {
		t.Fatal(err)
	}
	var far []int
	for code := range 38 {
		far = append(far, code)
	}
	banish(t, trainer, 0, far...)
	for i := 1; i < 20; i++ {
		if err := step(t, trainer, i); err != nil {
			t.Fatal(err)
		}
	}
	if trainer.state.Resets != 3 {
		t.Errorf("%d codes moved with 3 latents", trainer.state.Resets)
	}
	for i := 20; i < 600; i++ {
		if err := step(t, trainer, i); err != nil {
			t.Fatal(err)
		}
	}
	far = far[:0]
	for code, set := 0, read(t, trainer); code < 40; code++ {
		if set[levelPath(0, "codes")].Row(code)[0] > 900 {
			far = append(far, code)
		}
	}
	if len(far) > 0 {
		t.Errorf("codes %v were never moved", far)
	}
}

// A code of a shared codebook that one level does not need is alive as long as
// another level uses it.
func TestSharedCodebookKeepsCodesOfOtherLevels(t *testing.T) {
	c := tiny(t, "grit")
	c.Quantizer.Shared = true
	c.Quantizer.Resets = vq.Resets{Every: 10, Threshold: 0.01, Window: 1, Until: 1}
	trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
	for i := range 9 {
		if err := step(t, trainer, i); err != nil {
			t.Fatal(err)
		}
	}
	w := trainer.state.Window
	for code := range 8 { // level 0 uses codes 0-3, level 1 codes 4-6, nobody 7
		for level := range 2 {
			w.Current[level][code], w.Previous[level][code] = 0, 0
		}
		if code < 7 {
			w.Previous[code/4][code] = 10
		}
	}
	w.Settled, w.Filled = []int64{40, 30}, []int64{0, 0}
	before := read(t, trainer)[levelPath(0, "codes")]
	x := []*tensors.Tensor{tensorOf(weights.New(32, 8), 0.5)}
	if err := trainer.maybeReset(&train.Step{Record: &train.Record{Step: 10}, Inputs: x}); err != nil {
		t.Fatal(err)
	}
	after := read(t, trainer)[levelPath(0, "codes")]
	for code := range 8 {
		moved := firstDifference(after.Row(code), before.Row(code)) >= 0
		if moved != (code == 7) {
			t.Errorf("code %d moved: %v", code, moved)
		}
	}
	if trainer.record.Reset != 1 {
		t.Errorf("%d codes were reset", trainer.record.Reset)
	}
}

// Resets end where the configuration says.
func TestResetsLeaveTheEndInPeace(t *testing.T) {
	c := resetConfig(t, "ste")
	c.Quantizer.Codes = 64 // more than the batches can use
	c.Quantizer.Resets.Every, c.Quantizer.Resets.Threshold, c.Quantizer.Resets.Until = 4, 0.9, 0.5
	var at []int
	run(t, start(t, c, open(t, tinySet), t.TempDir(), false, Observer{Step: func(r Record) {
		if r.Reset > 0 {
			at = append(at, r.Step)
		}
	}}))
	if len(at) < 2 || slices.Max(at) > 20 {
		t.Errorf("resets at steps %v of 40, want several up to step 20", at)
	}
}
