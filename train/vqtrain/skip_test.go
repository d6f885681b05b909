package vqtrain

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gritvq/gritvq/train"
)

// poisoned is a batch with one element, of its first part, that is not a number.
func poisoned(t testing.TB, trainer *Trainer) []*tensors.Tensor {
	list := inputs(t, trainer, 0)
	x := make([]float32, list[0].Shape().Size())
	x[5] = float32(math.NaN())
	list[0] = tensors.FromFlatDataAndDimensions(x, list[0].Shape().Dimensions...)
	return list
}

// A step without a finite loss leaves every variable as it was, bit for bit:
// parameters, moments, averages, caches, power-iteration vectors and counts.
func TestSkippedStepChangesNothing(t *testing.T) {
	source := open(t, tinySet)
	for name, c := range variants(t) {
		for _, at := range []int{3, 11} { // in the warm-up, and with codes
			var events []string
			trainer := start(t, c, source, t.TempDir(), false, Observer{Step: func(r Record) { events = append(events, r.Event) }})
			for i := range at {
				if err := step(t, trainer, i); err != nil {
					t.Fatal(err)
				}
			}
			if trainer.state.Started != (at > 5) {
				t.Fatalf("%s: started %v at step %d", name, trainer.state.Started, at)
			}
			events = nil
			before, seen := read(t, trainer), trainer.state.Window.usage()
			if err := trainer.loop.Advance(context.Background(), poisoned(t, trainer)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			identical(t, read(t, trainer), before)
			if after := trainer.state.Window.usage(); !slices.Equal(after, seen) {
				t.Errorf("%s: the codes of a skipped step were counted", name)
			}
			if trainer.Step() != at+1 || trainer.record.Skipped != 1 || len(events) != 1 || !strings.Contains(events[0], "skipped") {
				t.Errorf("%s: step %d, %d skipped, events %q", name, trainer.Step(), trainer.record.Skipped, events)
			}
		}
	}
}

// Twenty skipped steps in a row end the run with advice; a good step between
// starts the count anew.
func TestDivergenceEndsTheRun(t *testing.T) {
	const twenty = 20
	trainer := start(t, tiny(t, "grit"), open(t, tinySet), t.TempDir(), false, Observer{})
	bad := func(n int) (err error) {
		for range n {
			if err = trainer.loop.Advance(context.Background(), poisoned(t, trainer)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := bad(twenty - 1); err != nil {
		t.Fatal(err)
	}
	if err := step(t, trainer, 0); err != nil {
		t.Fatal(err)
	}
	if err := bad(twenty - 1); err != nil {
		t.Fatal(err)
	}
	err := bad(1)
	if err == nil || !strings.Contains(err.Error(), "diverged") || !strings.Contains(err.Error(), "train.optimizer.rate") {
		t.Errorf("after %d bad steps: %v", twenty, err)
	}
	if errors.Is(err, train.ErrInterrupted) {
		t.Error("divergence looks like an interruption")
	}
}

// A sudden error is reported and refreshes the cache without touching any
// parameter.
func TestSpikeRefreshesTheCache(t *testing.T) {
	c := tiny(t, "grit")
	c.Quantizer.Cache.Period, c.Quantizer.Cache.Gradient = 1000, "accumulate"
	trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
	if err := step(t, trainer, 0); err != nil {
		t.Fatal(err)
	}
	codes := read(t, trainer)
	cache := trainer.bank.Store().GetVariable("/" + levelPath(0, "state/cache"))
	if err := cache.SetValue(tensorOf(codes[levelPath(0, "state/source")], 1)); err != nil {
		t.Fatal(err)
	}
	before := read(t, trainer)
	trainer.state.Smooth = 1
	if err := trainer.loop.Log(train.Record{Step: spikeAfter + 2}); err != nil {
		t.Fatal(err)
	}
	r := &train.Step{Record: &train.Record{}, Kept: true, Scalars: []float32{spikeFactor + 1}}
	if err := trainer.guard(r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Event, "times its mean") {
		t.Errorf("event %q", r.Event)
	}
	after := read(t, trainer)
	if firstDifference(before[levelPath(0, "state/cache")].Data, after[levelPath(0, "state/cache")].Data) < 0 {
		t.Error("the cache was not refreshed")
	}
	for _, p := range after.Paths() {
		if strings.HasSuffix(p, "state/cache") {
			continue
		}
		if firstDifference(before[p].Data, after[p].Data) >= 0 {
			t.Errorf("%s changed", p)
		}
	}
}
