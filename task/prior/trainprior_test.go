package prior

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/prior/gpt"
	"github.com/gritvq/gritvq/train"
)

// A prior of a deterministic grammar writes rows of the grammar and nothing else, and
// knows that only the first two codes are news.
func TestGrammarIsReproduced(t *testing.T) {
	dir := t.TempDir()
	path := writeRows(t, grammar(), 5)
	p := trained(t, TrainOptions{Dir: dir, Source: Source{Codes: path, Held: path}, Settings: small(600, "model.layers=2", "model.width=32",
		"train.optimizer.rate=0.005", "train.batch=25", "train.evaluate=100")})
	news := 2 * math.Log2(5)
	if bits := p.Manifest.Validation.BitsPerImage; math.Abs(bits-news) > 0.05 {
		t.Errorf("a row takes %g bits, want %g", bits, news)
	}
	out := filepath.Join(t.TempDir(), "drawn.npy")
	sampled(t, SampleOptions{Dir: dir, Output: out, Count: 200})
	seen := map[string]bool{}
	for i, row := range read(t, out) {
		if !obeys(row) {
			t.Errorf("row %d is %v", i, row)
		}
		seen[fmt.Sprint(row)] = true
	}
	if len(seen) < 24 {
		t.Errorf("200 draws show %d of the 25 rows", len(seen))
	}
}

// A prior is stored with its tokenizer, opens again and scores as its manifest says.
func TestPriorOfPictures(t *testing.T) {
	dir := t.TempDir()
	p := trainPictures(t, TrainOptions{Dir: dir, Settings: small(8)})
	if m := p.Manifest; m.Data.TrainRows != 2*38 || m.Data.ValidationRows != 2 || m.Height != 8 || m.Width != 8 || m.Pixels != 256 {
		t.Errorf("the manifest says %+v", m)
	}
	loaded, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range p.Weights.Paths() {
		if !slices.Equal(p.Weights[path].Data, loaded.Weights[path].Data) {
			t.Errorf("%s was stored as other values", path)
		}
	}
	b, err := loaded.Tokenizer()
	if err != nil || b.Tokenizer.Tokens() != 64 {
		t.Errorf("the copy of the tokenizer: %v", err)
	}
	for _, left := range []string{CodesFile, train.CheckpointFile} {
		if _, err := os.Stat(filepath.Join(dir, left)); err == nil {
			t.Errorf("%s was left behind", left)
		}
	}
	held := "synthetic:scenes?images=9&size=16&seed=5"
	scores, err := tryEvaluate(t, EvalOptions{Dir: dir, Pictures: held})
	if err != nil {
		t.Fatal(err)
	}
	if scores.Pictures != 9 || scores.Tokens != 9*64 || !close(scores.BitsPerImage, 64*scores.NLL/math.Ln2) ||
		!close(scores.BitsPerPixel, scores.BitsPerImage/256) || !close(scores.Perplexity, math.Exp(scores.NLL)) {
		t.Errorf("scores %+v", scores)
	}
	own := filepath.Join(t.TempDir(), "held")
	trainPictures(t, TrainOptions{Dir: own, Settings: small(8), Source: Source{Held: held}})
	again, err := Load(own)
	if err != nil {
		t.Fatal(err)
	}
	s, err := tryEvaluate(t, EvalOptions{Dir: own, Pictures: held})
	if err != nil || s.NLL != again.Manifest.Validation.NLL || s.Reference != again.Manifest.Validation.Reference {
		t.Errorf("scores %+v, the manifest has %+v; %v", s, again.Manifest.Validation, err)
	}
}

func close(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// The weights kept are those of the best likelihood of the held-out rows: that of the
// manifest is the least of the log, also where the last one is worse.
func TestBestWeightsAreKept(t *testing.T) {
	rows, held := grammar()[:6], grammar()[19:]
	dir := t.TempDir()
	p := trained(t, TrainOptions{Dir: dir, Source: Source{Codes: writeRows(t, rows, 5), Held: writeRows(t, held, 5)},
		Settings: small(120, "train.optimizer.rate=0.02", "train.evaluate=10", "model.width=32")})
	records, err := train.ReadLog[train.Record](filepath.Join(dir, train.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	best, last := math.Inf(1), 0.0
	for _, r := range records {
		if nll, ok := r.Scores["nll"]; ok {
			best, last = min(best, nll), nll
		}
	}
	if last <= best {
		t.Fatal("the last weights are the best, so nothing is tested")
	}
	if got := p.Manifest.Validation.NLL; math.Abs(got-best) > 1e-6 {
		t.Errorf("the weights kept have nll %g; the best was %g, the last %g", got, best, last)
	}
}

// Both views of a held-out picture are kept from training.
func TestMirroredPicturesAreDivided(t *testing.T) {
	l := gpt.Layout{Vocab: []int{100}, Cells: 1}
	d := &Dataset{Layout: l}
	plain, mirrored := Rows{}, Rows{}
	for i := range 20 {
		plain.Starts, plain.Codes = append(plain.Starts, 0), append(plain.Codes, uint32(i))
		mirrored.Starts, mirrored.Codes = append(mirrored.Starts, 0), append(mirrored.Codes, uint32(i+50))
	}
	d.divide([]Rows{plain, mirrored}, 0.2, 3)
	if d.Validation.Len() != 4 || d.Train.Len() != 32 {
		t.Fatalf("%d and %d rows", d.Train.Len(), d.Validation.Len())
	}
	for _, code := range d.Validation.Codes {
		if code >= 50 || slices.Contains(d.Train.Codes, code) || slices.Contains(d.Train.Codes, code+50) {
			t.Errorf("row %d is validated with and trained on", code)
		}
	}
	slices.Sort(d.Train.Codes)
	if len(slices.Compact(d.Train.Codes)) != 32 {
		t.Error("rows are trained on twice")
	}
}

func TestMirror(t *testing.T) {
	pixels := []uint8{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9}
	mirror(pixels, 3)
	want := []uint8{3, 3, 3, 2, 2, 2, 1, 1, 1, 6, 6, 6, 5, 5, 5, 4, 4, 4, 9, 9, 9, 8, 8, 8, 7, 7, 7}
	if !slices.Equal(pixels, want) {
		t.Errorf("mirrored %v", pixels)
	}
}

// interrupt is a watcher that cancels a run after some updates of lines.
type interrupt struct {
	task.Silent
	after  *int
	cancel context.CancelFunc
}

func (w interrupt) Line(int, string) task.Line { return interruptLine{w.Silent.Line(0, ""), w} }

type interruptLine struct {
	task.Line
	w interrupt
}

func (l interruptLine) Update(int64, string) {
	if *l.w.after--; *l.w.after == 0 {
		l.w.cancel()
	}
}

func interruptedAfter(t *testing.T, updates int) (context.Context, task.Watcher) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, interrupt{after: &updates, cancel: cancel}
}

// Interrupted while it encodes or trains, a run continues and ends as an uninterrupted one.
func TestInterruptedRunsResume(t *testing.T) {
	whole := t.TempDir()
	options := TrainOptions{Dir: whole, Settings: small(30, "train.checkpoint=5", "train.evaluate=10")}
	trainPictures(t, options)
	for _, updates := range []int{1, 15} { // of the lines of encoding and of training
		dir := filepath.Join(t.TempDir(), "prior")
		o := options
		o.Dir, o.Source = dir, Source{Tokenizer: stored, Pictures: scenes}
		ctx, w := interruptedAfter(t, updates)
		if _, err := tryTrain(ctx, o, w); !errors.Is(err, train.ErrInterrupted) {
			t.Fatalf("after %d updates: %v", updates, err)
		}
		_, err := tryTrain(t.Context(), o, task.Silent{})
		refused(t, err, "holds an unfinished run; --resume continues it, --force starts over")
		o.Resume = true
		trained(t, o)
		for _, name := range []string{ModelFile, ReferenceFile, ConfigFile, train.LogFile} {
			if files(t, dir)[name] != files(t, whole)[name] {
				t.Errorf("after %d updates: %s differs from that of the whole run", updates, name)
			}
		}
	}
	o := options
	o.Resume = true
	trainPictures(t, o) // finished: returned as it is
	o.Settings = small(31)
	o.Source = Source{Tokenizer: stored, Pictures: scenes}
	_, err := tryTrain(t.Context(), o, task.Silent{})
	refused(t, err, "was finished with other settings or data")
}

// Bad input is one sentence and leaves no directory behind.
func TestTrainSaysWhatIsWrong(t *testing.T) {
	rows := writeRows(t, grammar(), 5)
	wide := writeRows(t, [][]uint32{slices.Repeat([]uint32{9}, 64)}, 10)
	labels := filepath.Join(t.TempDir(), "labels.txt")
	write := func(text string) {
		if err := os.WriteFile(labels, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("nothing\tat all\n")
	for want, c := range map[string]struct {
		source Source
		set    []string
		misuse bool
	}{
		"name a tokenizer and pictures":            {misuse: true},
		"exclude each other":                       {source: Source{Tokenizer: stored, Pictures: scenes, Codes: rows}, misuse: true},
		"--levels is for --codes":                  {source: Source{Tokenizer: stored, Pictures: scenes, Levels: 2}, misuse: true},
		"no cells of 3 levels":                     {source: Source{Codes: rows, Levels: 3}},
		"pictures of the tokenizer have 8 x 8":     {source: Source{Codes: rows, Tokenizer: stored}},
		"code 9 is outside the vocabulary of 8":    {source: Source{Codes: wide, Tokenizer: stored}},
		"cannot read nowhere":                      {source: Source{Tokenizer: stored, Pictures: "nowhere"}},
		"holds no pictures":                        {source: Source{Tokenizer: stored, Pictures: "synthetic:mixture"}},
		"no subfolder holds 40 pictures, such as ": {source: Source{Tokenizer: stored, Pictures: scenes, Labels: Folders}},
		"has no class for 40 pictures, such as 00": {source: Source{Tokenizer: stored, Pictures: scenes, Labels: labels}},
		"must be a multiple of model.heads":        {source: Source{Codes: rows}, set: []string{"model.width=15"}, misuse: true},
		"the rows of ":                             {source: Source{Codes: rows, Held: wide}},
	} {
		dir := filepath.Join(t.TempDir(), "prior")
		_, err := tryTrain(t.Context(), TrainOptions{Dir: dir, Source: c.source, Settings: small(2, c.set...)}, task.Silent{})
		refused(t, err, want)
		if _, misused := errors.AsType[usage.Error](err); misused != c.misuse {
			t.Errorf("%v: is it misuse? %v", err, misused)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the directory was left behind with %v", want, slices.Collect(maps.Keys(files(t, dir))))
		}
	}
}
