package train

import (
	"context"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/weights"
)

// Without a gradient AdamW shrinks the network's variables by the rate times the
// decay at each step, and leaves alone those that the problem calls plain, packed
// or not.
func TestDecayByGroup(t *testing.T) {
	const steps, rate, decay = 5, 0.1, 0.2
	problem := Problem{
		Identity: "decay",
		Init: func(context.Context) (weights.Set, error) {
			return weights.Set{"layer/up": weights.Full(1, 2, 2), "layer/norm/scale": weights.Full(1, 2)}, nil
		},
		Batch: func(int64) ([]*tensors.Tensor, error) { return []*tensors.Tensor{tensors.FromScalar(float32(0))}, nil },
		Loss: func(v weights.Vars, in []*graph.Node, _ *graph.Node) *graph.Node {
			return graph.Mul(in[0], graph.Add(graph.ReduceAllSum(v.Get("layer/up")), graph.ReduceAllSum(v.Get("layer/norm/scale"))))
		},
		Hooks: Hooks{Group: func(path string) weights.Group {
			if path == "layer/norm/scale" {
				return weights.Plain
			}
			return weights.GroupOf(path)
		}},
	}
	config := Config{Loop: Loop{Steps: steps, Batch: 1, Log: 1, Checkpoint: 100, Schedule: optim.Schedule{Kind: "constant"}},
		Optimizer: optim.Optimizer{Name: "adamw", Rate: rate, WeightDecay: decay, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8}}
	for _, packed := range []bool{false, true} {
		result, err := Run(t.Context(), gradtest.Engine(t), problem, config, Options{Pack: packed})
		if err != nil {
			t.Fatal(err)
		}
		want := math.Pow(1-rate*decay, steps)
		if got := float64(result.Weights["layer/up"].Data[0]); math.Abs(got-want) > 1e-6 {
			t.Errorf("packed %v: a matrix of ones becomes %g, want %g", packed, got, want)
		}
		if got := result.Weights["layer/norm/scale"].Data[0]; got != 1 {
			t.Errorf("packed %v: a plain variable decays to %g", packed, got)
		}
	}
}
