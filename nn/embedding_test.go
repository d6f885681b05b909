package nn

import (
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// A token is a row of the table; the table's gradient adds up over equal tokens
// and is zero for rows nobody asked for.
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
		return append([]*graph.Node{y}, graph.Gradient(graph.ReduceAllSum(graph.Mul(y, nodes["g"])), nodes["table"])...)
	})
	gradient := make([]float64, 15)
	for i, token := range tokens {
		for d := range 3 {
			if y, want := got[0][i*3+d], in["table"].Data[int(token)*3+d]; y != want {
				t.Errorf("token %d: %g, want %g", token, y, want)
			}
			gradient[int(token)*3+d] += in["g"].Data[i*3+d]
		}
	}
	gradtest.Close(t, "gradient of the table", got[1], gradient, 1e-12)
}
