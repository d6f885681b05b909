package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// tally is the state of a problem with hooks.
type tally struct {
	Sum     float64 // of the reported scalars
	Started bool
}

// line is its record.
type line struct {
	Step int     `json:"step"`
	Sum  float64 `json:"sum"`
}

// hooked is the regression with every hook in use: batches in two parts, a
// constant in the loss, a variable that only training needs, one that follows the
// step number, and a restart after ten steps.
func hooked(state *tally) (Problem, **Trainer) {
	p, trainer := regression(-1), new(*Trainer)
	whole, loss := p.Batch, p.Loss
	p.Init = func(context.Context) (weights.Set, error) { return weights.Set{"w": weights.New(2, 1)}, nil }
	p.Batch = func(step int64) (parts []*tensors.Tensor, err error) {
		for _, half := range []int64{2 * step, 2*step + 1} {
			inputs, err := whole(half)
			if err != nil {
				return nil, err
			}
			parts = append(parts, inputs...)
		}
		return parts, nil
	}
	p.Hooks = Hooks{
		Parts: 2, State: state,
		Constants: weights.Set{"state/one": weights.Full(1, 1)},
		Rate:      func(weights.Group) float64 { return 0.5 },
		Decay:     map[weights.Group]float64{weights.Mixer: 0.1},
		Stride:    func(string, []int) float64 { return 2 },
		Role: func(path string) Role {
			return map[string]Role{"w": Trained, "follower": Followed, "state/scratch": Internal}[path]
		},
		Build: func(v weights.Vars, in Inputs) Pass {
			scaled := graph.Mul(loss(v, in.Batch, in.Random), graph.Reshape(v.Get("state/one")))
			return Pass{Loss: scaled, Scalars: []*graph.Node{in.Progress}, Outputs: []*graph.Node{in.Batch[2]}, Extra: in.Batch[:1],
				Finish: func(next map[string]*graph.Node, u Update) {
					if state.Started {
						old := v.Get("state/scratch")
						next["state/scratch"] = graph.Where(u.Step, graph.AddScalar(old, 1), old)
					}
				}}
		},
		Before: func(_ context.Context, inputs []*tensors.Tensor) (string, []*tensors.Tensor, error) {
			if len(inputs) != 4 {
				return "", nil, errors.New("a step without its inputs")
			}
			// A mark for each part: the step and the part's number.
			at := float32(2 * (*trainer).Step())
			more := []*tensors.Tensor{tensors.FromScalar(at), tensors.FromScalar(at + 1)}
			if state.Started || (*trainer).Step() < 10 {
				return "first", more, nil
			}
			state.Started = true
			set, err := (*trainer).Variables(false)
			if err != nil {
				return "", more, err
			}
			return "second", more, (*trainer).Restart(set.Merge("", weights.Set{"follower": weights.New(1), "state/scratch": weights.New(1)}))
		},
		After: func(s *Step) error {
			state.Sum += float64(s.Scalars[0])
			if len(s.Inputs) != 4 || len(s.Outputs) != 2 || s.Gradients["network"] == 0 {
				return errors.New("a step without its inputs, outputs or gradients")
			}
			for part, mark := range s.Outputs {
				if got := tensors.ToScalar[float32](mark); got != float32(2*(s.Step-1)+part) {
					return fmt.Errorf("part %d of step %d has the mark %g", part, s.Step, got)
				}
			}
			if state.Started {
				return (*trainer).Bank().Install(weights.Set{"follower": weights.Full(float32(s.Step), 1)})
			}
			s.Evaluated = false
			return nil
		},
		Describe: func(r Record) any { return line{r.Step, state.Sum} },
	}
	return p, trainer
}

// A problem with hooks learns, exports no internal variables and ends with the
// same bytes after interruptions.
func TestHooks(t *testing.T) {
	c := settings()
	c.Best = false
	run := func(dir string, stop int) (*Result, *tally, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		state := &tally{}
		p, trainer := hooked(state)
		var err error
		*trainer, err = New(t.Context(), gradtest.Engine(t), p, c, Options{Dir: dir, Resume: true, Watch: Observer{Step: func(r Record) {
			if r.Step == stop {
				cancel()
			}
		}}})
		if err != nil {
			t.Fatal(err)
		}
		defer (*trainer).Close()
		result, err := (*trainer).Run(ctx)
		return result, state, err
	}
	straight, broken := t.TempDir(), t.TempDir()
	want, state, err := run(straight, 0)
	if err != nil {
		t.Fatal(err)
	}
	if w := want.Weights["w"].Data; math.Abs(float64(w[0])-3) > 0.05 || math.Abs(float64(w[1])+2) > 0.05 {
		t.Errorf("learned %v, want 3 and -2", w)
	}
	if paths := want.Weights.Paths(); !slices.Equal(paths, []string{"follower", "w"}) {
		t.Errorf("exported %v", paths)
	}
	if x := want.Weights["follower"].Data[0]; x < 100 || x >= 119 {
		t.Errorf("the average of the follower is %v after 120 steps", x)
	}
	if sum := 119.0 / 2; math.Abs(state.Sum-sum) > 1e-3 { // of (step-1)/120
		t.Errorf("progress adds up to %g, want %g", state.Sum, sum)
	}
	for _, stop := range []int{4, 10, 57} {
		if _, _, err := run(broken, stop); !errors.Is(err, ErrInterrupted) {
			t.Fatal(err)
		}
	}
	got, _, err := run(broken, 0)
	if err != nil || !slices.Equal(got.Weights["w"].Data, want.Weights["w"].Data) {
		t.Errorf("resumed to %v (%v), want %v", got.Weights["w"].Data, err, want.Weights["w"].Data)
	}
	a, _ := os.ReadFile(filepath.Join(straight, LogFile))
	b, _ := os.ReadFile(filepath.Join(broken, LogFile))
	if !bytes.Equal(a, b) || !strings.HasPrefix(string(a), `{"step":10,"sum":0.37`) {
		t.Errorf("the logs differ, or begin with %.40q", a)
	}
	records, err := ReadLog[line](filepath.Join(broken, LogFile))
	if err != nil || len(records) != 12 || records[11].Step != 120 {
		t.Errorf("%d records (%v)", len(records), err)
	}
}
