package train

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// A run that is stopped in a long evaluation ends at once, and the resumed run repeats the step: it ends with the same
// weights and log.
func TestEvaluationsCanBeStopped(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	want, err := Run(t.Context(), gradtest.Engine(t), regression(-1), settings(), Options{Dir: whole})
	if err != nil {
		t.Fatal(err)
	}
	slow := regression(-1)
	evaluate := slow.Evaluate
	var stop func()
	slow.Evaluate = func(ctx context.Context, set weights.Set) (float64, map[string]float64, error) {
		stop()
		select {
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		case <-time.After(time.Minute):
			t.Error("the evaluation was not stopped")
			return evaluate(ctx, set)
		}
	}
	for range 2 { // stopped twice in the same evaluation
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stop = cancel
		last := 0
		_, err := Run(ctx, gradtest.Engine(t), slow, settings(), Options{Dir: dir, Resume: true,
			Watch: Observer{Step: func(r Record) { last = r.Step }}})
		if !errors.Is(err, ErrInterrupted) || last > 19 {
			t.Fatalf("step %d, %v", last, err)
		}
	}
	got, err := Run(t.Context(), gradtest.Engine(t), regression(-1), settings(), Options{Dir: dir, Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := want.Weights["w"].Data, got.Weights["w"].Data; a[0] != b[0] || a[1] != b[1] {
		t.Errorf("learned %v, want %v", b, a)
	}
	a, _ := os.ReadFile(filepath.Join(whole, LogFile))
	b, _ := os.ReadFile(filepath.Join(dir, LogFile))
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Error("the logs differ")
	}
}

// A short evaluation is finished: nothing is saved before it.
func TestShortEvaluationsAreFinished(t *testing.T) {
	c, dir := settings(), t.TempDir()
	c.Checkpoint = 1000
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	problem, last := regression(-1), 0
	evaluate, calls := problem.Evaluate, 0
	problem.Evaluate = func(ctx context.Context, set weights.Set) (float64, map[string]float64, error) {
		if calls++; calls == 2 {
			cancel()
		}
		if ctx.Err() != nil {
			return 0, nil, ctx.Err()
		}
		return evaluate(ctx, set)
	}
	_, err := Run(ctx, gradtest.Engine(t), problem, c, Options{Dir: dir, Watch: Observer{Step: func(r Record) { last = r.Step }}})
	if !errors.Is(err, ErrInterrupted) || last != 40 {
		t.Errorf("ended at step %d with %v", last, err)
	}
}

// Variables that take long to make are not waited for.
func TestInitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	problem := regression(-1)
	problem.Init = func(ctx context.Context) (weights.Set, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, err := New(ctx, gradtest.Engine(t), problem, settings(), Options{Dir: t.TempDir()}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A graph that takes long to build is given up, and nothing is lost.
func TestGraphBuildingCanBeStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	problem, built := regression(-1), 0
	loss := problem.Loss
	problem.Loss = func(v weights.Vars, in []*graph.Node, random *graph.Node) *graph.Node {
		for range 1000 {
			built++
			v.Get("w")
			cancel()
		}
		return loss(v, in, random)
	}
	dir := t.TempDir()
	if _, err := Run(ctx, gradtest.Engine(t), problem, settings(), Options{Dir: dir}); !errors.Is(err, ErrInterrupted) || built != 2 {
		t.Fatalf("%d parts were built: %v", built, err)
	}
	if _, err := Run(t.Context(), gradtest.Engine(t), regression(-1), settings(), Options{Dir: dir, Resume: true}); err != nil {
		t.Error(err)
	}
}
