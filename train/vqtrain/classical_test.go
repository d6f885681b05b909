package vqtrain

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
)

// classicalMethods are all methods that are fitted at once.
var classicalMethods = slices.DeleteFunc(vq.MethodNames(), func(method string) bool { return !vq.Classical(method) })

// Classical methods run like any other: their export scores on held-out rows,
// equal runs are identical, the log ends with the held-out score, and progress
// reaches the last step.
func TestClassicalMethodsFit(t *testing.T) {
	source := open(t, "synthetic:manifold?rows=3000")
	errors := map[string]float64{}
	for _, method := range classicalMethods {
		c, err := Default(method)
		if err != nil {
			t.Fatal(err)
		}
		c.Quantizer.Codes = 16
		c.Quantizer.Arrange(4, 1)
		c.Train.Steps = 8
		dir := t.TempDir()
		last := 0
		trainer := start(t, c, source, dir, false, Observer{Step: func(r Record) {
			if r.Step <= last || r.Phase != "fit" {
				t.Errorf("%s: step %d (%s) after %d", method, r.Step, r.Phase, last)
			}
			last = r.Step
		}})
		set := run(t, trainer)
		scores := score(t, trainer, set, source.Held)
		errors[method] = scores.RelativeError
		if last != 8 || trainer.Step() != 8 {
			t.Errorf("%s ended at step %d", method, last)
		}
		if scores.BitsPerVector != 16 {
			t.Errorf("%s: %g bits a vector, want 16", method, scores.BitsPerVector)
		}
		if scores.Utilization.Mean < 0.8 {
			t.Errorf("%s: utilization %g", method, scores.Utilization.Mean)
		}
		records, err := ReadLog(filepath.Join(dir, "log.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		final := records[len(records)-1]
		if final.Held == nil || final.Held.RelativeError != scores.RelativeError {
			t.Errorf("%s: the log ends with %+v, the held-out error is %g", method, final.Held, scores.RelativeError)
		}
		if want := score(t, trainer, set, source.Train).RelativeError; method != "rq" && relativeGap(final.Reconstruction, want) > 1e-3 {
			t.Errorf("%s: the fit reports an error of %g, the training rows have %g", method, final.Reconstruction, want)
		}
		identical(t, run(t, start(t, c, source, t.TempDir(), false, Observer{})), set)
	}
	t.Logf("held-out relative errors: %v", errors)
	for _, order := range [][2]string{{"rq", "kmeans"}, {"kmeans", "lsh"}, {"opq", "pq"}, {"pq", "lsh"}} {
		if errors[order[0]] >= errors[order[1]] {
			t.Errorf("%s leaves an error of %g, %s one of %g", order[0], errors[order[0]], order[1], errors[order[1]])
		}
	}
}

func relativeGap(got, want float64) float64 { return max(got-want, want-got) / want }

// Without options rq encodes with its beam; a beam of one is greedy and worse.
func TestRQEncodesWithItsBeam(t *testing.T) {
	source := open(t, "synthetic:manifold?rows=2000")
	c, err := Default("rq")
	if err != nil {
		t.Fatal(err)
	}
	c.Quantizer.Codes, c.Train.Steps = 16, 5
	trainer := start(t, c, source, t.TempDir(), false, Observer{})
	set := run(t, trainer)
	books, err := tokenizer.Usable(trainer.backend, trainer.model, set)
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := tokenizer.NewRuntime(trainer.backend, trainer.model, set, books)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	of := func(beam int) float64 {
		scores, _, err := runtime.Evaluate(t.Context(), source.Set, dataset.All(500), tokenizer.Options{Beam: beam}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return scores.Summary().MSE
	}
	if of(0) != of(16) || of(0) >= of(1) {
		t.Errorf("error %g by default, %g with a beam of 16, %g greedily", of(0), of(16), of(1))
	}
}

// An interrupted fit leaves no checkpoint; resuming starts over and ends the
// same.
func TestInterruptedFitStartsOver(t *testing.T) {
	source := open(t, tinySet)
	c := tiny(t, "kmeans")
	c.Quantizer.Start.Warmup, c.Train.Steps = 0, 20
	want := run(t, start(t, c, source, t.TempDir(), false, Observer{}))
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	trainer := start(t, c, source, dir, true, Observer{Step: func(Record) { cancel() }})
	if _, err := trainer.Run(ctx); !errors.Is(err, train.ErrInterrupted) {
		t.Fatalf("interrupted fit returned %v", err)
	}
	trainer.Close()
	identical(t, run(t, start(t, c, source, dir, true, Observer{})), want)
}

func TestClassicalMethodsTakeNoNetwork(t *testing.T) {
	source := open(t, tinySet)
	c := tiny(t, "pq")
	c.Model.Hidden = []int{4}
	_, err := New(t.Context(), gradtest.Engine(t), c, source, Options{Dir: t.TempDir(), Data: "data"})
	if err == nil || !strings.Contains(err.Error(), "without a network") || !strings.Contains(err.Error(), "--hidden none") {
		t.Errorf("a network around pq: %v", err)
	}
}
