package vqtrain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
)

// The newest checkpoint and those before it are kept; where the newest is
// damaged the run goes on from the one before and ends with the same weights.
func TestOlderCheckpointsAreKept(t *testing.T) {
	source, c := open(t, tinySet), tiny(t, "grit")
	c.Train.Steps, c.Train.Checkpoint, c.Train.Keep = 40, 6, 3
	want := run(t, start(t, c, source, t.TempDir(), false, Observer{}))
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	trainer := start(t, c, source, dir, false, Observer{Step: func(r Record) {
		if r.Step == 27 {
			cancel()
		}
	}})
	if _, err := trainer.Run(ctx); !errors.Is(err, train.ErrInterrupted) {
		t.Fatal(err)
	}
	trainer.Close()
	names, err := filepath.Glob(filepath.Join(dir, "checkpoint*"))
	if err != nil || len(names) != 3 {
		t.Fatalf("checkpoints %q (%v), want three", names, err)
	}
	newest := filepath.Join(dir, train.CheckpointFile)
	if err := os.WriteFile(newest, []byte("cut off"), 0o644); err != nil {
		t.Fatal(err)
	}
	var told []string
	again := start(t, c, source, dir, true, Observer{Status: func(text string) { told = append(told, text) }})
	if again.Step() != 24 || !slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, "the one before it") }) {
		t.Errorf("continues after step %d, told %q", again.Step(), told)
	}
	identical(t, run(t, again), want)
	if err := train.RemoveCheckpoints(dir); err != nil {
		t.Fatal(err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "checkpoint*")); len(names) != 0 {
		t.Errorf("%q are left", names)
	}
}

// With best the export is the best evaluation's, not the last one's.
func TestBestWeightsAreExported(t *testing.T) {
	source, c := open(t, tinySet), tiny(t, "ste")
	c.Train.Steps, c.Train.Evaluate, c.Train.Best = 40, 4, true
	c.Train.Optimizer.Rate, c.Train.Schedule.Kind = 5, "constant" // restless on purpose
	best, last := 1e9, 0.0
	trainer := start(t, c, source, t.TempDir(), false, Observer{Step: func(r Record) {
		if r.Held != nil {
			best, last = min(best, r.Held.RelativeError), r.Held.RelativeError
		}
	}})
	set := run(t, trainer)
	if best == last {
		t.Fatal("the last evaluation was the best: the case shows nothing")
	}
	if score, _, err := trainer.evaluate(t.Context(), set); err != nil || -score != best {
		t.Errorf("the export scores %g (%v), the best evaluation %g, the last %g", -score, err, best, last)
	}
}

// Memory does not grow with the steps.
func TestMemoryDoesNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	source, c := scenes(t, "synthetic:scenes?images=24&size=16", nil), small(t, "grit")
	c.Model.Image = tokenizer.Image{Size: 16, Widths: []int{4, 4, 8}, Blocks: 1, Up: "nearest", Precision: "f32"}
	c.Train.Steps, c.Train.Batch, c.Train.Evaluate, c.Train.Checkpoint = 2000, 2, 500, 500
	heap := map[int]uint64{}
	run(t, start(t, c, source, t.TempDir(), false, Observer{Step: func(r Record) {
		if r.Step == 600 || r.Step == 1990 {
			runtime.GC()
			runtime.GC() // finalizers of tensors run between
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap[r.Step] = m.HeapAlloc
		}
	}}))
	if grown := int64(heap[1990]) - int64(heap[600]); grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes over 1,390 steps, from %d", grown, heap[600])
	}
	t.Logf("heap %d then %d bytes", heap[600], heap[1990])
}
