package vqtrain

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// refiningRun is a run that trains the decoder alone, on the codes of a local search.
func refiningRun(t testing.TB, method string) Config {
	c := tiny(t, method)
	c.Train.Choose = nil
	c.Quantizer.Codes, c.Quantizer.Levels, c.Quantizer.Start.From = 16, 3, "rq"
	c.Quantizer.Search, c.Quantizer.Beam, c.Train.Beam = vq.Local, 6, 2
	c.Model.Refine = tokenizer.Refine{Width: 24, Drop: 0.2}
	c.Train.Finish, c.Train.Steps, c.Train.Optimizer.Rate, c.Train.Schedule.Warmup = 1, 300, 0.01, 10
	return c
}

// The codes are those of lsq, to the bit, whatever the method would do with them, and the error on rows of the
// training falls.
func TestRefiningKeepsTheCodes(t *testing.T) {
	source := open(t, "synthetic:manifold?rows=800&dim=8")
	for _, method := range []string{"grit", "ema", "ste"} {
		c := refiningRun(t, method)
		c.Quantizer.Resets = vq.Resets{Every: 5, Threshold: 0.5, Window: 1, Until: 1}
		c.Quantizer.Dropout = 0.5
		trainer := start(t, c, source, t.TempDir(), false, Observer{})
		set := run(t, trainer)
		kept := c
		kept.Train.KeepStart = true
		still := start(t, kept, source, t.TempDir(), false, Observer{})
		before := run(t, still)
		for path, codes := range before.Sub(vq.Prefix) {
			if at := firstDifference(set[vq.Prefix+"/"+path].Data, codes.Data); at >= 0 {
				t.Errorf("%s: %s is not that of the start", method, path)
			}
		}
		was, is := score(t, still, before, source.Train).RelativeError, score(t, trainer, set, source.Train).RelativeError
		if t.Logf("%s: %.4f, refined %.4f", method, was, is); !(is < 0.97*was) {
			t.Errorf("%s: error %g of training rows, %g refined", method, was, is)
		}
	}
}

// Every step gives rows the codes that encoding gives them, also those that an earlier step has found.
func TestSettledCodesAreThoseOfEncoding(t *testing.T) {
	source, c := open(t, tinySet), refiningRun(t, "grit")
	c.Train.Accumulate = 2
	trainer := start(t, c, source, t.TempDir(), false, Observer{})
	for at := range 40 { // two epochs
		if err := step(t, trainer, at); err != nil {
			t.Fatal(err)
		}
	}
	known := 0
	for _, is := range trainer.settled.known {
		if is {
			known++
		}
	}
	if known != source.Train.Len() {
		t.Errorf("%d of %d rows have codes", known, source.Train.Len())
	}
	if err := trainer.renew(read(t, trainer)); err != nil {
		t.Fatal(err)
	}
	batch := inputs(t, trainer, 40)
	given, err := trainer.assign(40, batch)
	if err != nil {
		t.Fatal(err)
	}
	for part, codes := range given {
		z, err := trainer.look("latents", trainer.encoded, batch[part*batchInputs])
		if err != nil {
			t.Fatal(err)
		}
		want, err := trainer.runtime.Assign(t.Context(), z[0].Data, trainer.model.Cells(16), tokenizer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, code := range tensors.MustCopyFlatData[int32](codes) {
			if uint32(code) != want[i] {
				t.Fatalf("part %d: code %d is %d, encoding has %d", part, i, code, want[i])
			}
		}
	}
}

// Trials choose between training codes and refining the better start; a run that is stopped in any part ends as one
// that was not.
func TestChosenRecipe(t *testing.T) {
	source, c := open(t, "synthetic:manifold?rows=700&dim=8"), chosen(t, "grit")
	c.Quantizer.Levels, c.Train.Optimizer.Rate = 3, 0.02
	c.Model.Refine.Width, c.Train.Steps = 64, 120
	c.Train.Choose = []string{searchKey, finishKey}
	straight, dir := t.TempDir(), t.TempDir()
	want, err := fitted(t, c, source, FitOptions{Options: Options{Dir: straight}, Reference: true})
	if err != nil {
		t.Fatal(err)
	}
	choice := want.Choice
	if len(choice.Trials) != 2 || len(choice.Starts) != 2 || choice.Kept {
		t.Fatalf("the choice is %+v", choice)
	}
	best, _ := choice.BestStart()
	if first := choice.Trials[0].Settings; !slices.Equal(first, append([]string{"train.finish=1"}, best.Settings...)) {
		t.Errorf("the first trial has %v, the best start %v", first, best.Settings)
	}
	if codes := choice.Trials[1].Settings; !slices.Equal(codes, []string{"train.finish=0"}) {
		t.Errorf("the second trial has %v", codes)
	}
	for _, stop := range []int{4, 80, 125, 200} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Fit(ctx, gradtest.Engine(t), c, source, FitOptions{Trials: filepath.Join(dir, "trials"), Reference: true,
			Options: Options{Dir: dir, Data: "data", Resume: true, Watch: Observer{Step: func(r Record) {
				if r.Progress.Done == stop {
					cancel()
				}
			}}}})
		if !errors.Is(err, train.ErrInterrupted) {
			t.Fatalf("stopped at step %d: %v", stop, err)
		}
	}
	got, err := fitted(t, c, source, FitOptions{Options: Options{Dir: dir, Resume: true}, Reference: true})
	if err != nil {
		t.Fatal(err)
	}
	identical(t, got.Weights, want.Weights)
	a, _ := os.ReadFile(filepath.Join(straight, "log.jsonl"))
	if b, _ := os.ReadFile(filepath.Join(dir, "log.jsonl")); !bytes.Equal(a, b) {
		t.Errorf("the logs differ:\n%s\n%s", a, b)
	}
}

// With many rows codes are not trained.
func TestRecipesOfManyRows(t *testing.T) {
	c, err := Default("grit")
	if err != nil {
		t.Fatal(err)
	}
	for rows, want := range map[int][]string{fewRows - 1: {"1", "0"}, fewRows: {"1"}} {
		if got := rules[finishKey](c, rows, 0.3); !slices.Equal(got, want) {
			t.Errorf("%d rows: %v, want %v", rows, got, want)
		}
	}
	for _, setting := range []string{"quantizer.transform.levels=affine", "quantizer.dropout=0.2"} {
		asked, err := c.with([]string{setting})
		if err != nil {
			t.Fatal(err)
		}
		if got := rules[finishKey](asked, manyRows, 0.3); got != nil {
			t.Errorf("%s asks for codes that learn, and the recipes are %v", setting, got)
		}
	}
	one := c
	one.Quantizer.Levels = 1
	if got := rules[finishKey](one, 3000, 0.3); got != nil {
		t.Errorf("the codes of one level can be refined: %v", got)
	}
}

// A refined tokenizer is trained further as any other: all of it, its decoder alone, or with added levels, whose sums get
// a decoder of their own. A tokenizer without one gets one.
func TestRefinedTokenizersAreTrainedFurther(t *testing.T) {
	source := open(t, "synthetic:manifold?rows=800&dim=8")
	c := refiningRun(t, "grit")
	plain := c
	plain.Model.Refine, plain.Train.Finish, plain.Train.Steps = tokenizer.Refine{}, 0, 2
	from, without := parentOf(t, c, source), parentOf(t, plain, source)
	further := c.Continued()
	if further.Train.Finish != 0 {
		t.Fatalf("further training keeps the codes: finish %g", further.Train.Finish)
	}
	further.Train.Steps = 30
	changed := func(from *Trained, change func(c *Config)) (after weights.Set, paths []string) {
		t.Helper()
		c, s := further, source
		change(&c)
		s.From = from
		after = run(t, start(t, c, s, t.TempDir(), false, Observer{}))
		for path, before := range from.Weights {
			if a := after[path]; len(a.Data) == len(before.Data) && firstDifference(a.Data, before.Data) >= 0 {
				paths = append(paths, path)
			}
		}
		return after, paths
	}
	codes, decoder := levelPath(0, "codes"), tokenizer.RefinePath+"/u"
	if _, all := changed(from, func(*Config) {}); !slices.Contains(all, codes) || !slices.Contains(all, decoder) {
		t.Errorf("further training changed only %v", all)
	}
	_, part := changed(from, func(c *Config) { c.Train.Freeze = []string{FreezeEncoder, FreezeCodes} })
	if slices.Contains(part, codes) || !slices.Contains(part, decoder) {
		t.Errorf("with frozen codes training changed %v", part)
	}
	more, _ := changed(from, func(c *Config) {
		c.Quantizer.Levels, c.Train.Freeze = 4, []string{FreezeCodes, FreezeDecoder}
		c.Quantizer.Search, c.Quantizer.Beam = from.Tokenizer.Spec.Quantizer.Search, from.Tokenizer.Spec.Quantizer.Beam
	})
	if u := more[decoder].Data; slices.ContainsFunc(u, func(x float32) bool { return x != 0 }) {
		t.Error("sums of four levels are refined by what three have learned")
	}
	added, _ := changed(without, func(c *Config) { c.Train.Freeze = []string{FreezeEncoder, FreezeCodes} })
	if u := added[decoder]; u == nil || !slices.ContainsFunc(u.Data, func(x float32) bool { return x != 0 }) {
		t.Error("the tokenizer without a refining decoder got none that is trained")
	}
	nothing := further
	nothing.Train.Freeze, nothing.Train.Finish = []string{FreezeDecoder}, 1
	if err := nothing.CheckFrom(from); err == nil || !strings.Contains(err.Error(), "leaves nothing to train") {
		t.Errorf("a frozen decoder that alone is trained: %v", err)
	}
}

// The decoder learns on the vectors of the codes also with methods that train others on noisy ones.
func TestRefiningSeesTheCodes(t *testing.T) {
	source := open(t, tinySet)
	var want weights.Set
	for _, method := range []string{"ste", "nsvq", "diveq"} {
		c := refiningRun(t, method)
		c.Train.Steps, c.Model.Refine.Drop = 5, 0
		set := run(t, start(t, c, source, t.TempDir(), false, Observer{}))
		if want == nil {
			want = set
		}
		for _, name := range []string{"v", "bias", "u", "shift"} {
			path := tokenizer.RefinePath + "/" + name
			if at := firstDifference(set[path].Data, want[path].Data); at >= 0 {
				t.Errorf("%s: element %d of %s is %v, with ste %v", method, at, name, set[path].Data[at], want[path].Data[at])
			}
		}
	}
}

// What cannot be trained or decoded is refused.
func TestRefusedRefinements(t *testing.T) {
	c := refiningRun(t, "grit")
	c.Train.Finish, c.Quantizer.Dropout = 0.5, 0.3
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "fewer levels are not refined") {
		t.Errorf("dropped levels: %v", err)
	}
	classical := tiny(t, "rq")
	classical.Model.Refine.Width = 4
	if _, err := classical.Tokenizer(8); err == nil || !strings.Contains(err.Error(), "trains no decoder") {
		t.Errorf("a classical method: %v", err)
	}
}
