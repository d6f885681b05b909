package nn

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

var causalStacks = []Transformer{small("absolute", "layer", "gelu"), small("none", "rms", "relu")}

func TestCausal(t *testing.T) {
	for _, s := range causalStacks {
		c := Causal{s}
		rng := weights.Rand(1, "causal")
		in := asInputs(c.Init(rng), 0.1)
		in["x"] = gaussian(rng, 2, 4, 6)
		checkSequences(t, s.Positions, in, func(nodes map[string]*graph.Node) *graph.Node {
			return c.Build(weights.FromNodes(nodes), nodes["x"], nil)
		}, func(in gradtest.Inputs) sequences {
			return asSequences(in["x"]).stack(variables{in: in}, s, sight{causal: true})
		})
	}
}

// Changing later vectors leaves earlier results exactly as they were.
func TestCausalHidesLaterVectors(t *testing.T) {
	c := Causal{small("absolute", "layer", "gelu")}
	rng := weights.Rand(1, "causal mask")
	in := asInputs(c.Init(rng), 0.1)
	in["x"] = gaussian(rng, 2, 5, 6)
	run := func() []float64 {
		return gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			return []*graph.Node{c.Build(weights.FromNodes(nodes), nodes["x"], nil)}
		})[0]
	}
	before := run()
	for i := range in["x"].Data {
		if i/6%5 >= 3 {
			in["x"].Data[i] += 10
		}
	}
	after := run()
	for i := range before {
		if early := i/6%5 < 3; early != (before[i] == after[i]) {
			t.Fatalf("vector %d changed from %g to %g when those from place 3 on changed", i/6%5, before[i], after[i])
		}
	}
}

// stepped runs Step over all places of x [R, T, Width] with a cache of the given length,
// in the form of the engine or with separate heads.
func stepped(c Causal, v weights.Vars, x *graph.Node, length int, separate bool) *graph.Node {
	past := c.Empty(x, x.Shape().Dim(0), length)
	if separate {
		for i, p := range past {
			split := func(n *graph.Node) *graph.Node { return graph.Reshape(n, x.Shape().Dim(0), c.Heads, length, c.HeadDim) }
			past[i] = KeyValues{split(p.Keys), split(p.Values)}
		}
	}
	var all []*graph.Node
	for i := range x.Shape().Dim(1) {
		var y *graph.Node
		one := graph.Squeeze(graph.Slice(x, graph.AxisRange(), graph.AxisElem(i)), 1)
		y, past = c.Step(v, one, graph.Const(x.Graph(), int32(i)), past)
		all = append(all, graph.ExpandAxes(y, 1))
	}
	return graph.Concatenate(all, 1)
}

// Steps with a cache equal the full pass; also with a cache longer than the sequence and in half precision.
func TestCausalStepsEqualTheFullPass(t *testing.T) {
	defer func() { halfEverywhere = false }()
	for _, s := range causalStacks {
		for _, half := range []bool{false, true} {
			for _, length := range []int{4, 5} {
				c, tolerance := Causal{s}, 1e-6
				if halfEverywhere = half; half {
					c.DType, tolerance = dtypes.BFloat16, 0.03
				}
				rng := weights.Rand(1, "causal steps")
				in := asInputs(c.Init(rng), 0.1)
				in["x"] = gaussian(rng, 3, 4, 6)
				got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
					v, x := weights.FromNodes(nodes), nodes["x"]
					return []*graph.Node{c.Build(v, x, nil), stepped(c, v, x, length, false), stepped(c, v, x, length, true)}
				})
				gradtest.Close(t, s.Positions, got[1], got[0], tolerance)
				gradtest.Close(t, s.Positions+", separate heads", got[2], got[0], tolerance)
			}
		}
	}
}
