package nn

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

func TestLayerNorm(t *testing.T) {
	for _, kind := range Norms {
		n := LayerNorm{Width: 5, Kind: kind}
		in := asInputs(n.Init(), 0.3)
		in["x"] = gaussian(weights.Rand(1, kind), 2, 3, 5)
		for i := range 5 {
			in["x"].Data[i] = 1e-2 * float64(i-2) // small enough for the epsilon to count
		}
		checkSequences(t, kind, in, func(nodes map[string]*graph.Node) *graph.Node {
			return n.Build(weights.FromNodes(nodes), nodes["x"])
		}, func(in gradtest.Inputs) sequences { return asSequences(in["x"]).norm(variables{in: in}, kind) })
	}
}

// A vector of zeros stays zero and has a finite gradient.
func TestLayerNormOfZero(t *testing.T) {
	for _, kind := range Norms {
		n := LayerNorm{Width: 4, Kind: kind}
		in := asInputs(n.Init(), 0)
		in["x"] = gradtest.Value{Shape: []int{1, 4}, Data: make([]float64, 4)}
		got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			y := n.Build(weights.FromNodes(nodes), nodes["x"])
			return append([]*graph.Node{y}, graph.Gradient(graph.ReduceAllSum(y), nodes["x"])...)
		})
		for i, y := range got[0] {
			if gradient := got[1][i]; y != 0 || !(gradient >= -1001 && gradient <= 1001) { // 1/√ε
				t.Errorf("%s: value %g, gradient %g", kind, y, gradient)
			}
		}
	}
}

// Statistics of half-precision vectors are taken in float32: bfloat16 would stop
// adding squares at 256.
func TestLayerNormStatisticsAreFloat32(t *testing.T) {
	const width = 1024
	n := LayerNorm{Width: width, Kind: "rms"}
	in := asInputs(n.Init(), 0)
	x := gradtest.Value{Shape: []int{1, 1, width}}
	for i := range width {
		x.Data = append(x.Data, float64(1+i%2)) // bfloat16 holds 1 and 2
	}
	in["x"] = x
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		y := n.Build(weights.FromNodes(nodes), graph.ConvertDType(nodes["x"], dtypes.BFloat16))
		if y.DType() != dtypes.BFloat16 {
			t.Errorf("the output is %s", y.DType())
		}
		return []*graph.Node{graph.ConvertDType(y, dtypes.Float32)}
	})[0]
	gradtest.Close(t, "normalized", got, asSequences(x).norm(variables{in: in}, "rms").data, 4e-3)
}
