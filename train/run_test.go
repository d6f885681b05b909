package train

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
	"time"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/weights"
)

// regression is y = 3 x0 - 2 x1 + noise from the engine's random state.
func regression(poison int64) Problem {
	rng := weights.Rand(7, "data")
	all := weights.Normal(rng, 1, 256, 2)
	return Problem{
		Identity: "regression",
		Init: func(context.Context) (weights.Set, error) {
			return weights.Set{"w": weights.New(2, 1), "state/fixed": weights.Full(5, 1)}, nil
		},
		Batch: func(step int64) ([]*tensors.Tensor, error) {
			x, y := make([]float32, 0, 32), make([]float32, 0, 16)
			for i := range 16 {
				row := all.Row(int(step*16+int64(i)) % 256)
				x, y = append(x, row...), append(y, 3*row[0]-2*row[1])
			}
			if step == poison {
				y[3] = float32(math.NaN())
			}
			return []*tensors.Tensor{tensors.FromFlatDataAndDimensions(x, 16, 2), tensors.FromFlatDataAndDimensions(y, 16, 1)}, nil
		},
		Loss: func(v weights.Vars, in []*graph.Node, random *graph.Node) *graph.Node {
			_, noise := graph.RandomNormal(random, in[1].Shape())
			target := graph.Add(in[1], graph.MulScalar(noise, 0.01))
			return graph.ReduceAllMean(graph.Square(graph.Sub(graph.Dot(in[0], v.Get("w")).Product(), target)))
		},
		Evaluate: func(_ context.Context, set weights.Set) (float64, map[string]float64, error) {
			w := set["w"].Data
			e := math.Abs(float64(w[0])-3) + math.Abs(float64(w[1])+2)
			return -e, map[string]float64{"error": e}, nil
		},
	}
}

func settings() Config {
	return Config{Seed: 1, Optimizer: optim.Optimizer{Name: "adam", Rate: 0.2, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
		Loop: Loop{Steps: 120, Batch: 16, Schedule: optim.Schedule{Kind: "cosine", Warmup: 5}, ClipNorm: 10, Average: 0.9,
			Evaluate: 20, Best: true, Log: 10, Checkpoint: 13, Keep: 2}}
}

func TestRunLearns(t *testing.T) {
	var records []Record
	watch := Observer{Step: func(r Record) { records = append(records, r) }}
	result, err := Run(t.Context(), gradtest.Engine(t), regression(-1), settings(), Options{Dir: t.TempDir(), Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	set := result.Weights
	if w := set["w"].Data; math.Abs(float64(w[0])-3) > 0.05 || math.Abs(float64(w[1])+2) > 0.05 {
		t.Errorf("learned %v, want 3 and -2", w)
	}
	if set["state/fixed"].Data[0] != 5 {
		t.Error("a variable of the state was trained")
	}
	if len(records) != 120 || records[119].Scores["error"] > 0.05 || !(records[119].Loss < records[0].Loss/100) {
		t.Errorf("%d records, the last %+v", len(records), records[len(records)-1])
	}
}

// A run that is stopped again and again ends with the same bytes, log included.
func TestResumeIsIdentical(t *testing.T) {
	whole := t.TempDir()
	want, err := Run(t.Context(), gradtest.Engine(t), regression(-1), settings(), Options{Dir: whole})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var got *Result
	for stop := 25; ; stop += 31 {
		ctx, cancel := context.WithCancel(t.Context())
		got, err = Run(ctx, gradtest.Engine(t), regression(-1), settings(), Options{Dir: dir, Resume: true, Watch: Observer{Step: func(r Record) {
			if r.Step == stop {
				cancel()
			}
		}}})
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, ErrInterrupted) {
			t.Fatal(err)
		}
	}
	for p, a := range want.Weights {
		for i, x := range a.Data {
			if y := got.Weights[p].Data[i]; y != x {
				t.Fatalf("%s differs at %d: %v and %v", p, i, y, x)
			}
		}
	}
	a, _ := os.ReadFile(filepath.Join(whole, LogFile))
	b, _ := os.ReadFile(filepath.Join(dir, LogFile))
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Error("the logs differ")
	}
	_, err = Run(t.Context(), gradtest.Engine(t), regression(-1), settings(), Options{Dir: dir, Data: "other", Resume: true})
	if err == nil || !strings.Contains(err.Error(), "other data") {
		t.Errorf("a checkpoint of other data: %v", err)
	}
	other := regression(-1)
	other.Identity = "something else"
	_, err = Run(t.Context(), gradtest.Engine(t), other, settings(), Options{Dir: dir, Resume: true})
	if err == nil || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("another problem's checkpoint: %v", err)
	}
}

// An evaluation that fails while the run is being stopped is told, and made up
// for when the run goes on.
func TestFailureWhileStoppingIsNotSkipped(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	if _, err := Run(t.Context(), gradtest.Engine(t), regression(-1), settings(), Options{Dir: whole}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failing, broken := regression(-1), errors.New("the device is gone")
	evaluate, calls := failing.Evaluate, 0
	failing.Evaluate = func(ctx context.Context, set weights.Set) (float64, map[string]float64, error) {
		if calls++; calls == 2 {
			cancel()
			return 0, nil, broken
		}
		return evaluate(ctx, set)
	}
	if _, err := Run(ctx, gradtest.Engine(t), failing, settings(), Options{Dir: dir}); !errors.Is(err, broken) {
		t.Errorf("a failure while stopping: %v", err)
	}
	if _, err := Run(t.Context(), gradtest.Engine(t), regression(-1), settings(), Options{Dir: dir, Resume: true}); err != nil {
		t.Fatal(err)
	}
	a, _ := os.ReadFile(filepath.Join(whole, LogFile))
	b, _ := os.ReadFile(filepath.Join(dir, LogFile))
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Error("the log of the run that went on differs")
	}
}

// A deleted log starts again; its lost entries are not invented.
func TestResumeWithoutItsLog(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := Run(ctx, gradtest.Engine(t), regression(-1), settings(), Options{Dir: dir, Watch: Observer{Step: func(r Record) {
		if r.Step == 50 {
			cancel()
		}
	}}}); !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, LogFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), gradtest.Engine(t), regression(-1), settings(), Options{Dir: dir, Resume: true}); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, LogFile))
	if err != nil || !bytes.HasPrefix(log, []byte(`{"step":60,`)) {
		t.Errorf("the log begins %.40q, %v", log, err)
	}
}

func TestSkippedStep(t *testing.T) {
	var skipped []int
	_, err := Run(t.Context(), gradtest.Engine(t), regression(7), settings(), Options{Dir: t.TempDir(), Watch: Observer{Step: func(r Record) {
		if r.Event != "" {
			skipped = append(skipped, r.Step)
		}
	}}})
	if err != nil || len(skipped) != 1 || skipped[0] != 8 {
		t.Errorf("skipped %v (%v), want step 8", skipped, err)
	}
}

// Patience stops a run that no longer improves; best decides whether it exports
// the weights of its best evaluation or of its last step.
func TestPatienceStopsAndBestExports(t *testing.T) {
	for _, best := range []bool{false, true} {
		c, p := settings(), regression(-1)
		c.Patience, c.Evaluate, c.Best = 2, 10, best
		var seen []weights.Set
		p.Evaluate = func(_ context.Context, set weights.Set) (float64, map[string]float64, error) {
			seen = append(seen, set)
			calls := len(seen)
			return float64(-(calls - 3) * (calls - 3)), map[string]float64{"call": float64(calls)}, nil
		}
		var last Record
		result, err := Run(t.Context(), gradtest.Engine(t), p, c, Options{Dir: t.TempDir(), Watch: Observer{Step: func(r Record) { last = r }}})
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) != 5 || last.Step != 50 || !strings.Contains(last.Event, "since step 30") {
			t.Errorf("%d evaluations, the last record %+v", len(seen), last)
		}
		want := seen[4]
		if best {
			want = seen[2]
		}
		if !slices.Equal(result.Weights["w"].Data, want["w"].Data) || slices.Equal(seen[2]["w"].Data, seen[4]["w"].Data) {
			t.Errorf("best %v: exported %v, evaluated %v then %v", best, result.Weights["w"].Data, seen[2]["w"].Data, seen[4]["w"].Data)
		}
	}
}

// A run that starts from a known answer exports it unless training finds a better
// one, also after it was stopped.
func TestTheStartIsEvaluated(t *testing.T) {
	p, c, dir := regression(-1), settings(), t.TempDir()
	p.FromStart = true
	steps, stop := []int(nil), 50
	p.Evaluate = func(_ context.Context, set weights.Set) (float64, map[string]float64, error) {
		w := set["w"].Data
		return -math.Abs(float64(w[0])), nil, nil // the first variables are 0
	}
	for {
		ctx, cancel := context.WithCancel(t.Context())
		watch := Observer{Step: func(r Record) {
			steps = append(steps, r.Step)
			if r.Step == stop {
				cancel()
			}
		}}
		result, err := Run(ctx, gradtest.Engine(t), p, c, Options{Dir: dir, Resume: true, Watch: watch})
		cancel()
		if errors.Is(err, ErrInterrupted) {
			stop = -1
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if w := result.Weights["w"].Data; w[0] != 0 || w[1] != 0 {
			t.Errorf("exported %v, not the start", w)
		}
		break
	}
	if stop > 0 || len(steps) != 1+c.Steps || steps[0] != 0 || steps[1] != 1 {
		t.Errorf("records of %d steps, from %v", len(steps), steps[:2])
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"steps": func(c *Config) { c.Steps = 0 }, "average": func(c *Config) { c.Average = 1 },
		"optimizer": func(c *Config) { c.Optimizer.Name = "" }, "log": func(c *Config) { c.Log = 0 },
	} {
		c := settings()
		spoil(&c)
		if c.Validate() == nil {
			t.Errorf("%s: %+v passes", name, c)
		}
	}
}

// Variables that travel together learn as they do one by one, and a run may
// change from one way to the other: checkpoints know nothing of it.
func TestPackedVariablesLearnTheSame(t *testing.T) {
	problem := regression(40)
	first := problem.Init
	problem.Init = func(ctx context.Context) (weights.Set, error) {
		set, err := first(ctx)
		return set.Merge("", weights.Set{"b": weights.New(1, 1)}), err
	}
	loss := problem.Loss
	problem.Loss = func(v weights.Vars, in []*graph.Node, random *graph.Node) *graph.Node {
		return graph.Add(loss(v, in, random), graph.ReduceAllSum(graph.Square(graph.AddScalar(v.Get("b"), -1))))
	}
	run := func(packs bool, dir string, stop int) (*Result, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		watch := Observer{Step: func(r Record) {
			if r.Step == stop {
				cancel()
			}
		}}
		return Run(ctx, gradtest.Engine(t), problem, settings(), Options{Dir: dir, Resume: true, Pack: packs, Watch: watch})
	}
	want, err := run(false, t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := run(true, dir, 33); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("stopped with %v", err)
	}
	if _, err := run(false, dir, 61); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("stopped with %v", err)
	}
	got, err := run(true, dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	for p, a := range want.Weights {
		for i, x := range a.Data {
			if math.Abs(float64(x-got.Weights[p].Data[i])) > 1e-5 {
				t.Errorf("%s: %v packed in turns, %v alone", p, got.Weights[p].Data, a.Data)
			}
		}
	}
}

// The time of a run is that of all its sessions.
func TestSecondsAddUp(t *testing.T) {
	const pause = 30 * time.Millisecond
	dir := t.TempDir()
	stopAt := func(stop int) (*Result, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return Run(ctx, gradtest.Engine(t), regression(-1), settings(), Options{Dir: dir, Resume: true, Watch: Observer{Step: func(r Record) {
			if r.Step == stop {
				time.Sleep(pause)
				cancel()
			}
		}}})
	}
	for _, stop := range []int{20, 50, 80} {
		if _, err := stopAt(stop); !errors.Is(err, ErrInterrupted) {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	result, err := stopAt(0)
	if err != nil {
		t.Fatal(err)
	}
	if last := time.Since(begun).Seconds(); result.Seconds < last/2+3*pause.Seconds() {
		t.Errorf("%g s in all, the last session took %g and three before it at least %g", result.Seconds, last, 3*pause.Seconds())
	}
}

// Quick steps are saved by their number, slow ones by the clock.
func TestSlowStepsAreSaved(t *testing.T) {
	defer func(before time.Duration) { saveAfter = before }(saveAfter)
	c := settings()
	for c.Checkpoint, saveAfter = range map[int]time.Duration{7: time.Hour, 1000: 0} {
		dir, first := t.TempDir(), 0
		if _, err := Run(t.Context(), gradtest.Engine(t), regression(-1), c, Options{Dir: dir, Watch: Observer{Step: func(r Record) {
			if _, err := os.Stat(filepath.Join(dir, CheckpointFile)); err == nil && first == 0 {
				first = r.Step - 1 // it was saved after the step before
			}
		}}}); err != nil {
			t.Fatal(err)
		}
		if want := map[int]int{7: 7, 1000: 1}[c.Checkpoint]; first != want {
			t.Errorf("every %d steps or %v: first saved at step %d, want %d", c.Checkpoint, saveAfter, first, want)
		}
	}
}
