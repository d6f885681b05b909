package nn

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// The written gradient is used instead of the derived one, whether or not the
// engine fuses operations, and an infinite input does no harm.
func TestWithGradients(t *testing.T) {
	in := gradtest.Inputs{
		"a": {Shape: []int{2}, Data: []float64{3, math.Inf(1)}},
		"b": {Shape: []int{1, 2}, Data: []float64{math.Inf(-1), 5}},
	}
	for _, fusion := range []string{"1", "0"} {
		t.Setenv(graph.FusionEnv, fusion)
		got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			a, b := nodes["a"], nodes["b"]
			value := graph.Round(graph.MulScalar(graph.Min(a, graph.ConstAs(a, 4.0)), 2)) // Round has no gradient
			y := withGradients(value, []*graph.Node{a, b}, func(adjoint *graph.Node) []*graph.Node {
				return []*graph.Node{graph.MulScalar(adjoint, 10), graph.ExpandAxes(graph.Neg(adjoint), 0)}
			})
			loss := graph.ReduceAllSum(graph.Mul(y, graph.Const(a.Graph(), []float64{1, 7})))
			return append([]*graph.Node{y}, graph.Gradient(loss, a, b)...)
		})
		for i, want := range [][]float64{{6, 8}, {10, 70}, {-1, -7}} {
			gradtest.Close(t, "fusion "+fusion, got[i], want, 0)
		}
	}
}
