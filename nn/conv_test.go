package nn

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// asInputs widens a variable set, with noise so that zeros are tested too.
func asInputs(set weights.Set, noise float64) gradtest.Inputs {
	rng := weights.Rand(7, "noise")
	in := gradtest.Inputs{}
	for _, p := range set.Paths() {
		v := gradtest.Value{Shape: set[p].Shape, Data: make([]float64, len(set[p].Data))}
		for i, x := range set[p].Data {
			v.Data[i] = float64(x) + noise*rng.NormFloat64()
		}
		in[p] = v
	}
	return in
}

// The layer is its kernel at "same" padding and its bias: 3 x 3 of ones on an
// image of ones counts the pixels inside.
func TestConvCountsNeighbours(t *testing.T) {
	in := gradtest.Inputs{
		"weights": {Shape: []int{3, 3, 1, 1}, Data: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}},
		"bias":    {Shape: []int{1}, Data: []float64{100}},
		"x":       {Shape: []int{1, 3, 3, 1}, Data: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}},
	}
	for stride, want := range map[int][]float64{1: {104, 106, 104, 106, 109, 106, 104, 106, 104}, 2: {104, 104, 104, 104}} {
		got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			return []*graph.Node{Conv{In: 1, Out: 1, Kernel: 3, Stride: stride}.Build(weights.FromNodes(nodes), nodes["x"])}
		})[0]
		gradtest.Close(t, "counts", got, want, 0)
	}
}

// The bias has the sum of the adjoint over the pixels.
func TestConvBiasGradient(t *testing.T) {
	c := Conv{In: 2, Out: 3, Kernel: 3}
	in := asInputs(c.Init(weights.Rand(1, "bias")), 0)
	rng := weights.Rand(2, "bias")
	in["x"], in["g"] = gaussian(rng, 2, 4, 5, 2), gaussian(rng, 2, 4, 5, 3)
	want := make([]float64, 3)
	for i, g := range in["g"].Data {
		want[i%3] += g
	}
	got := gradtest.Autodiff[float64](t, in, func(nodes map[string]*graph.Node) *graph.Node {
		return graph.ReduceAllSum(graph.Mul(c.Build(weights.FromNodes(nodes), nodes["x"]), nodes["g"]))
	})["bias"]
	gradtest.Close(t, "bias", got, want, 1e-12)
}

func TestConvInit(t *testing.T) {
	second := func(c Conv) float64 { // second moment of the output for unit input
		sum := 0.0
		for _, w := range c.Init(weights.Rand(1, "init"))["weights"].Data {
			sum += float64(w) * float64(w)
		}
		return sum / float64(c.Out)
	}
	for _, c := range []Conv{{In: 64, Out: 64, Kernel: 3}, {In: 32, Out: 64, Kernel: 1, Gain: 2}} {
		if got, want := second(c), max(1, c.Gain); math.Abs(got-want) > 0.1*want {
			t.Errorf("%+v: second moment %.3f, want %g", c, got, want)
		}
	}
	if got := second(Conv{In: 8, Out: 8, Kernel: 3, Zero: true}); got != 0 {
		t.Errorf("Zero starts at %g", got)
	}
	if shape := (Conv{In: 8, Out: 6, Kernel: 4}).Init(weights.Rand(1, ""))["weights"].Shape; !slices.Equal(shape, []int{4, 4, 8, 6}) {
		t.Errorf("weights of shape %v", shape)
	}
}
