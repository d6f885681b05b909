package vqtrain

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// chosen is a quick configuration whose noise is chosen.
func chosen(t testing.TB, method string) Config {
	c := tiny(t, method)
	c.Quantizer.Codes, c.Quantizer.Beam, c.Quantizer.Start.From = 16, 4, "rq"
	c.Train.Steps, c.Train.Choose, c.Train.Checkpoint, c.Train.Log, c.Train.Evaluate = 20, []string{"train.noise"}, 4, 5, 5
	return c
}

func fitted(t testing.TB, c Config, s Source, o FitOptions) (*Outcome, error) {
	t.Helper()
	o.Data = "data"
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Trials = filepath.Join(o.Dir, "trials")
	result, err := Fit(t.Context(), gradtest.Engine(t), c, s, o)
	if err == nil {
		t.Cleanup(result.Runtime.Close)
	}
	return result, err
}

// Validation rows are training rows that no trial sees, drawn by the seed.
func TestValidationRowsComeFromTheTrainingRows(t *testing.T) {
	for name, source := range map[string]Source{"split": open(t, tinySet), "held-out file": {Train: dataset.All(600)}} {
		rows := func(s dataset.Selection) (list []int) {
			for i := range s.Len() {
				list = append(list, s.At(i))
			}
			return list
		}
		var before []int
		for _, seed := range []uint64{1, 1, 2} {
			c := chosen(t, "ste")
			c.Seed = seed
			if name == "split" {
				source.Train, source.Held = dataset.Split(600, 0.1, seed)
			}
			s := (&fit{config: c, source: source}).validation()
			validation, trained := rows(s.Held), rows(s.Train)
			if n := source.Train.Len(); len(validation) != n/10 || len(trained) != n-n/10 {
				t.Fatalf("%s: %d and %d of %d rows", name, len(validation), len(trained), n)
			}
			all := append(slices.Clone(validation), trained...)
			slices.Sort(all)
			want := rows(source.Train)
			slices.Sort(want)
			if !slices.Equal(all, want) {
				t.Errorf("%s: the parts are not the training rows", name)
			}
			if slices.IsSorted(validation) {
				t.Errorf("%s: the validation rows are not drawn at random", name)
			}
			if before != nil && slices.Equal(before, validation) != (seed == 1) {
				t.Errorf("%s: seed %d does not decide the validation rows", name, seed)
			}
			before = validation
		}
	}
}

// All validation rows judge: the limit on rows scored during training is not theirs.
func TestAllValidationRowsJudge(t *testing.T) {
	source, c := open(t, tinySet), chosen(t, "ste")
	var choices []tokenizer.Choice
	for _, limit := range []int{0, 3} {
		c.Train.HeldRows = limit
		result, err := fitted(t, c, source, FitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		choices = append(choices, *result.Choice)
	}
	a, b := choices[0], choices[1]
	if a.Rows != 54 || b.Rows != 54 || a.Start != b.Start || a.Trials[0].Error != b.Trials[0].Error {
		t.Errorf("choices differ by the rows scored during training: %+v and %+v", a, b)
	}
}

// Training that can only harm is found out: the tokenizer is the start, to the bit,
// and the log says so.
func TestUselessTrainingKeepsTheStart(t *testing.T) {
	source, c := open(t, tinySet), chosen(t, "grit")
	c.Train.Optimizer.Rate, c.Train.ClipNorm = 3, 0
	dir, starts := t.TempDir(), []Start{}
	result, err := fitted(t, c, source, FitOptions{Options: Options{Dir: dir}, Reference: true,
		Started: func(s Start) error { starts = append(starts, s); s.Runtime.Close(); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	choice := result.Choice
	if choice == nil || !choice.Kept || choice.Error != choice.Start || len(choice.Trials) != 2 || choice.Trials[0].Error < choice.Start {
		t.Fatalf("the choice is %+v", choice)
	}
	if len(starts) != 1 || starts[0].Config.Quantizer.Method != "rq" || starts[0].Held.Summary().RelativeError != result.Reference.Score {
		t.Errorf("the start was told as %+v", starts)
	}
	if result.Steps != 0 || !result.Config.Train.KeepStart {
		t.Errorf("%d steps were taken", result.Steps)
	}
	classical := c
	classical.Quantizer = c.Quantizer.Reference()
	classical.Train.Steps, classical.Train.Choose = 25, nil
	for path, codes := range run(t, start(t, classical, source, t.TempDir(), false, Observer{})) {
		if at := firstDifference(result.Weights[path].Data, codes.Data); at >= 0 {
			t.Errorf("%s is not that of rq", path)
		}
	}
	beam := tokenizer.Options{Beam: c.Quantizer.Reference().Beam}
	held, _, err := result.Runtime.Evaluate(t.Context(), source.HeldSet, source.Held, beam, nil)
	if err != nil || held.Summary().RelativeError != result.Reference.Score || result.Reference.Name != "residual k-means" {
		t.Errorf("the start has an error of %g, the reference %+v, %v", held.Summary().RelativeError, result.Reference, err)
	}
	records, err := ReadLog(filepath.Join(dir, "log.jsonl"))
	if err != nil || len(records) != 1 || !records[0].Choice.Kept || !strings.Contains(records[0].Event, "the start is kept") {
		t.Errorf("the log is %+v, %v", records, err)
	}
}

// Of two classical starts validation rows prefer one. If training does not improve on it, the tokenizer is that one, to the bit;
// otherwise it is the reference.
func TestTheBetterClassicalStart(t *testing.T) {
	source, c := open(t, "synthetic:mixture?rows=900&dim=8"), chosen(t, "grit") // rows enough for sweeps
	c.Quantizer.Levels = 3
	c.Train.Choose = append(c.Train.Choose, searchKey)
	kept := c
	kept.Train.Optimizer.Rate, kept.Train.ClipNorm = 3, 0 // training can only harm
	result, err := fitted(t, kept, source, FitOptions{Reference: true})
	if err != nil {
		t.Fatal(err)
	}
	choice := result.Choice
	best, number := choice.BestStart()
	if len(choice.Starts) != 2 || number != 1 || !choice.Kept || choice.Start != best.Error || !(best.Error < choice.Starts[0].Error) {
		t.Fatalf("the choice is %+v", choice)
	}
	if q := result.Config.Quantizer; q.Search != vq.Local || q.Method != "grit" {
		t.Errorf("the kept start has method %s and a search by %s", q.Method, q.Search)
	}
	additive := kept
	additive.Quantizer = result.Config.Quantizer.Reference()
	additive.Train.Steps, additive.Train.Choose = 25, nil
	lsq := start(t, additive, source, t.TempDir(), false, Observer{})
	for path, codes := range run(t, lsq) {
		if at := firstDifference(result.Weights[path].Data, codes.Data); at >= 0 {
			t.Errorf("%s is not that of lsq", path)
		}
	}
	if back, err := result.Config.Unchosen(kept); err != nil || back.Quantizer.Search != vq.Beam {
		t.Errorf("before the choice codes were searched by %s, %v", back.Quantizer.Search, err)
	}
	better := c
	better.Train.Optimizer.Rate, better.Train.Steps = 0.02, 200
	better.Train.Choose = append(better.Train.Choose, "quantizer.transform.levels", "quantizer.transform.hidden")
	if result, err = fitted(t, better, source, FitOptions{Reference: true}); err != nil {
		t.Fatal(err)
	}
	if result.Choice.Kept || result.Config.Quantizer.Search != vq.Beam || result.Reference.Name != vq.LSQ.Title {
		t.Errorf("choice %+v, search by %s, reference %+v", result.Choice, result.Config.Quantizer.Search, result.Reference)
	}
}

// A run that is stopped in a trial, between trials, or in the last part ends as one
// that was not: the same choice, weights and log.
func TestResumedChoiceIsIdentical(t *testing.T) {
	source, c := open(t, tinySet), chosen(t, "grit")
	c.Quantizer.Start.From, c.Train.Optimizer.Rate = "data", 0.02 // a start to improve on
	straight := t.TempDir()
	want, err := fitted(t, c, source, FitOptions{Options: Options{Dir: straight}, Reference: true})
	if err != nil {
		t.Fatal(err)
	}
	if want.Choice.Kept {
		t.Fatal("the start was kept, so resuming the last part is untested")
	}
	dir := t.TempDir()
	for _, stop := range []int{3, 9, 12, 20, 27, 38} { // two trials of 10 steps, then 20 steps
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Fit(ctx, gradtest.Engine(t), c, source, FitOptions{
			Options: Options{Dir: dir, Data: "data", Resume: true, Watch: Observer{Step: func(r Record) {
				if r.Progress.Done == stop {
					cancel()
				}
				if r.Progress.Total != 40 {
					t.Errorf("%d of %d steps", r.Progress.Done, r.Progress.Total)
				}
			}}},
			Trials: filepath.Join(dir, "trials"), Reference: true,
			Started: func(s Start) error { return errors.New("this start is not classical") },
		})
		if !errors.Is(err, train.ErrInterrupted) {
			t.Fatalf("stopped at step %d: %v", stop, err)
		}
	}
	got, err := fitted(t, c, source, FitOptions{Options: Options{Dir: dir, Resume: true}, Reference: true})
	if err != nil {
		t.Fatal(err)
	}
	identical(t, got.Weights, want.Weights)
	if !slices.Equal(got.Choice.Settings, want.Choice.Settings) || got.Choice.Error != want.Choice.Error || got.First == 0 {
		t.Errorf("resumed at step %d to %+v, want %+v", got.First, got.Choice, want.Choice)
	}
	a, _ := os.ReadFile(filepath.Join(straight, "log.jsonl"))
	b, _ := os.ReadFile(filepath.Join(dir, "log.jsonl"))
	if !bytes.Equal(a, b) || !bytes.Contains(a, []byte(`"choice":{"start":0.`)) {
		t.Errorf("the logs differ:\n%s\n%s", a, b)
	}
	files := []string{filepath.Join(dir, "trials", earlierChoices), filepath.Join(dir, "trials", ChoiceFile)}
	if left, _ := filepath.Glob(filepath.Join(dir, "trials", "*")); !slices.Equal(left, files) {
		t.Errorf("left in the directory of trials: %v", left)
	}
	c.Seed++
	_, err = fitted(t, c, source, FitOptions{Options: Options{Dir: dir, Resume: true}})
	if err == nil || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("resuming with another seed gave %v", err)
	}
}

// The last part trains on all training rows with the chosen settings, as a run that
// is configured so does.
func TestChosenSettingsAreTrainedOnAllRows(t *testing.T) {
	source, c := open(t, tinySet), chosen(t, "grit")
	c.Quantizer.Start.From, c.Train.Optimizer.Rate = "data", 0.02 // a start to improve on
	result, err := fitted(t, c, source, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Reference != nil || len(result.Choice.Settings) != 1 || !strings.HasPrefix(result.Choice.Settings[0], "train.noise=") {
		t.Errorf("reference %+v, choice %+v", result.Reference, result.Choice)
	}
	plain := result.Config
	plain.Train.Choose = nil
	identical(t, run(t, start(t, plain, source, t.TempDir(), false, Observer{})), result.Weights)
	back, err := result.Config.Unchosen(c)
	if err != nil || back.Train.Noise != c.Train.Noise || result.Config.Train.Noise == 0 {
		t.Errorf("noise %g, chosen %g, %v", back.Train.Noise, result.Config.Train.Noise, err)
	}
	c.Train.Choose = nil
	result, err = fitted(t, c, source, FitOptions{})
	if err != nil || result.Choice != nil {
		t.Fatal(result, err)
	}
	identical(t, run(t, start(t, c, source, t.TempDir(), false, Observer{})), result.Weights)
}

// With fewer rows than codes left to a trial the start is kept.
func TestTooFewRowsToJudgeBy(t *testing.T) {
	source, c := open(t, tinySet), chosen(t, "ste")
	source.Train = source.Train.Head(17)
	result, err := fitted(t, c, source, FitOptions{})
	if err != nil || !result.Choice.Kept || len(result.Choice.Trials) != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
}

func TestImpossibleChoicesAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"cannot choose":    func(c *Config) { c.Train.Choose = []string{"quantizer.codes"} },
		"named twice":      func(c *Config) { c.Train.Choose = []string{"train.noise", "train.noise"} },
		"train.validation": func(c *Config) { c.Train.Validation = 0.6 },
		"train.noise":      func(c *Config) { c.Train.Noise = -1 },
		"train.beam":       func(c *Config) { c.Train.Beam = -1 },
	} {
		c := chosen(t, "ste")
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Every method keeps its rows of codes from the classical start when codes are given.
func TestGivenCodesAreTheStart(t *testing.T) {
	source, c := open(t, tinySet), chosen(t, "ema")
	c.Train.KeepStart, c.Train.Choose = true, nil
	books := []*weights.Array{weights.Normal(weights.Rand(1, "a"), 1, 16, 8), weights.Normal(weights.Rand(2, "b"), 1, 16, 8)}
	result, err := fitted(t, c, source, FitOptions{Codes: books})
	if err != nil {
		t.Fatal(err)
	}
	for l, book := range books {
		if firstDifference(result.Weights[vq.Prefix+"/level"+string(rune('0'+l))+"/codes"].Data, book.Data) >= 0 {
			t.Errorf("level %d does not start from the given codes", l)
		}
	}
}

// Noise has the configured deviation and depends on seed, step and part alone.
func TestNoiseOnTrainingRows(t *testing.T) {
	source, c := open(t, tinySet), chosen(t, "ste")
	c.Train.Noise, c.Train.Batch, c.Train.Accumulate = 0.5, 512, 2
	noisy := start(t, c, source, t.TempDir(), false, Observer{})
	c.Train.Noise = 0
	plain := start(t, c, source, t.TempDir(), false, Observer{})
	flat := func(trainer *Trainer, step, part int) []float32 {
		return tensors.MustCopyFlatData[float32](inputs(t, trainer, step)[part*batchInputs])
	}
	variance, square, count := 0.0, 0.0, 0
	for _, v := range source.Variance {
		variance += v / float64(len(source.Variance))
	}
	for step := range 8 {
		x, y := flat(noisy, step, 0), flat(plain, step, 0)
		for i := range x {
			square += float64(x[i]-y[i]) * float64(x[i]-y[i])
			count++
		}
	}
	if got := math.Sqrt(square / float64(count) / variance); math.Abs(got-0.5) > 0.01 {
		t.Errorf("the noise has a deviation of %g, want 0.5", got)
	}
	x := flat(noisy, 3, 1)
	if !slices.Equal(x, flat(noisy, 3, 1)) || slices.Equal(x, flat(noisy, 3, 0)) || slices.Equal(x, flat(noisy, 4, 1)) {
		t.Error("the noise does not depend on step and part alone")
	}
}
