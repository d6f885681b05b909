package vqtrain

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/train"
)

// Training that spoils a tokenizer of pictures is undone: the start is kept, also by a run that was killed and resumed.
// Training that improves it stays.
func TestPicturesKeepTheStart(t *testing.T) {
	source := scenes(t, "synthetic:scenes?images=60&size=16", nil)
	good := small(t, "ema")
	good.Train.Steps, good.Train.Checkpoint = 12, 5
	spoilt := good
	spoilt.Train.Optimizer.Rate, spoilt.Train.ClipNorm, spoilt.Train.Average = 0.5, 0, 0
	improved, err := fitted(t, good, source, FitOptions{})
	if err != nil || improved.Choice != nil || improved.Steps != 12 {
		t.Fatalf("%+v, %v", improved, err)
	}
	kept, err := fitted(t, spoilt, source, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := kept.Choice
	if c == nil || !c.Kept || c.Rows != 2 || !(c.Trials[0].Error >= c.Start) || kept.Steps != 0 || !kept.Config.Train.KeepStart {
		t.Fatalf("the start is lost: %+v, %+v", kept, c)
	}
	f := &fit{FitOptions: FitOptions{Trials: "x"}, source: source}
	started := good
	started.Train.KeepStart = true
	identical(t, kept.Weights, run(t, start(t, started, f.judged(good), t.TempDir(), false, Observer{})))

	dir := t.TempDir()
	o := FitOptions{Options: Options{Dir: dir, Data: "data", Resume: true}, Trials: filepath.Join(dir, "trials")}
	ctx, cancel := context.WithCancel(t.Context())
	o.Watch.Step = func(r Record) {
		if r.Step == 7 {
			cancel()
		}
	}
	if _, err := Fit(ctx, gradtest.Engine(t), spoilt, source, o); !errors.Is(err, train.ErrInterrupted) {
		t.Fatal(err)
	}
	resumed, err := fitted(t, spoilt, source, FitOptions{Options: Options{Dir: dir, Resume: true}})
	if err != nil || resumed.Choice == nil || resumed.Choice.Start != c.Start || resumed.Choice.Trials[0].Error != c.Trials[0].Error {
		t.Fatalf("%+v, %v", resumed, err)
	}
	identical(t, resumed.Weights, kept.Weights)
}

// Validation pictures are few, and a perceptual loss is not judged by squared errors.
func TestJudgedPictures(t *testing.T) {
	source := scenes(t, "synthetic:scenes?images=60&size=16", nil)
	f := &fit{FitOptions: FitOptions{Trials: "x"}, source: source}
	for name, v := range map[string]struct {
		change func(*Config)
		want   int
	}{
		"usual": {func(*Config) {}, 2}, "perceptual": {func(c *Config) { c.Train.Perceptual = 0.1 }, 0},
		"network alone": {func(c *Config) { c.Model.Image.Linear = false }, 0}, "switched off": {func(c *Config) { c.Train.Validation = 0 }, 0},
	} {
		c := small(t, "ema")
		v.change(&c)
		if s := f.judged(c); s.Validation.Len() != v.want || s.Train.Len() != 48-v.want {
			t.Errorf("%s: %d validation pictures beside %d", name, s.Validation.Len(), s.Train.Len())
		}
	}
}

// A run that is stopped between its start and the start's measurement measures it when it goes on.
func TestStoppedBeforeTheStartIsMeasured(t *testing.T) {
	c, dir := small(t, "ema"), t.TempDir()
	c.Train.Steps, c.Train.Checkpoint = 3, 5
	source := (&fit{FitOptions: FitOptions{Trials: "x"}, source: scenes(t, "synthetic:scenes?images=60&size=16", nil)}).judged(c)
	whole := start(t, c, source, t.TempDir(), false, Observer{})
	want := run(t, whole)
	first := start(t, c, source, dir, false, Observer{})
	if err := first.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.measureOwnStart(stopped); !errors.Is(err, context.Canceled) || first.state.Start != nil {
		t.Fatalf("got %v and an error of %v", err, first.state.Start)
	}
	if err := errors.Join(first.loop.Save(), first.Close()); err != nil {
		t.Fatal(err)
	}
	second := start(t, c, source, dir, true, Observer{})
	got := run(t, second)
	if second.state.Start == nil || *second.state.Start != *whole.state.Start {
		t.Errorf("the start's error is %v, want %g", second.state.Start, *whole.state.Start)
	}
	identical(t, got, want)
}
