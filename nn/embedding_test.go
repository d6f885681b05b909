package nn

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// A token's vector is a row of the table, √Width times as large; the table's
// gradient adds up over equal tokens and is zero for rows nobody asked for.
func TestEmbedding(t *testing.T) {
	e := Embedding{Rows: 5, Width: 3}
	tokens := []int32{4, 0, 4, 2, 4, 0}
	in := asInputs(e.Init(weights.Rand(1, "embedding")), 0)
	in["g"] = gaussian(weights.Rand(2, "embedding"), 2, 3, 3)
	got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		y := e.Build(weights.FromNodes(nodes), graph.Reshape(graph.Const(nodes["g"].Graph(), tokens), 2, 3))
		if dims := y.Shape().Dimensions; !slices.Equal(dims, []int{2, 3, 3}) {
			t.Errorf("two sequences of three tokens give %v", dims)
		}
		gradient := graph.Gradient(graph.ReduceAllSum(graph.Mul(y, nodes["g"])), nodes["table"])[0]
		return []*graph.Node{y, gradient, e.Range(weights.FromNodes(nodes), 2, 5)}
	})
	gradient := make([]float64, 15)
	for i, token := range tokens {
		for d := range 3 {
			if y, want := got[0][i*3+d], math.Sqrt(3)*in["table"].Data[int(token)*3+d]; math.Abs(y-want) > 1e-15 {
				t.Errorf("token %d: %g, want %g", token, y, want)
			}
			gradient[int(token)*3+d] += math.Sqrt(3) * in["g"].Data[i*3+d]
		}
	}
	gradtest.Close(t, "gradient of the table", got[1], gradient, 1e-12)
	gradtest.Close(t, "tokens 2 to 4", got[2], scaled(in["table"].Data[6:], math.Sqrt(3)), 1e-15)
}

// Vectors start with deviation 1 at any width, and are stored beside the
// matrices.
func TestEmbeddingStart(t *testing.T) {
	for _, width := range []int{4, 64} {
		e := Embedding{Rows: 40000 / width, Width: width}
		table := e.Init(weights.Rand(1, "embedding"))["table"].Data
		var sum float64
		for _, x := range table {
			sum += float64(x) * float64(x)
		}
		if got := e.scale() * math.Sqrt(sum/float64(len(table))); math.Abs(got-1) > 0.02 {
			t.Errorf("width %d: vectors begin with deviation %g, want 1", width, got)
		}
	}
}

func scaled(x []float64, by float64) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = by * x[i]
	}
	return y
}
