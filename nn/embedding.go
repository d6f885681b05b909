package nn

import (
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// Embedding is a table of learned vectors, one a token.
type Embedding struct {
	Rows, Width int
	Deviation   float64 // standard deviation of the initial vectors; 0 is 1
}

// Init returns "table" [Rows, Width], Gaussian.
func (e Embedding) Init(rng *rand.Rand) weights.Set {
	deviation := e.Deviation
	if deviation == 0 {
		deviation = 1
	}
	return weights.Set{"table": weights.Normal(rng, deviation, e.Rows, e.Width)}
}

// Build looks up tokens [...], integers below Rows: [..., Width]. The gradient
// of the table adds up the adjoints of equal tokens. The engine moves tokens
// that are out of range to the nearest row without a word, so that callers check
// them on the host.
func (e Embedding) Build(v weights.Vars, tokens *graph.Node) *graph.Node {
	return graph.Gather(v.Get("table"), graph.ExpandAxes(tokens, -1))
}

// repeatRows repeats every row of x [N, C] a number of times: [N·times, C]. The
// embedded engine broadcasts an axis in the middle value by value, and looks up
// whole rows.
func repeatRows(x *graph.Node, times int) *graph.Node {
	rows := constantRow(x.Graph(), x.Shape().Dim(0)*times, func(i int) int32 { return int32(i / times) })
	return graph.Gather(x, graph.ExpandAxes(rows, -1), true)
}

// constantRow is a constant vector of n integers.
func constantRow(g *graph.Graph, n int, at func(i int) int32) *graph.Node {
	values := make([]int32, n)
	for i := range values {
		values[i] = at(i)
	}
	return graph.Const(g, values)
}
