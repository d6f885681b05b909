package nn

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// Embedding is a table of learned vectors, one a token. Rows are stored at
// 1/√Width of the vectors' size (Vaswani et al., 2017), where matrices have their
// values too: the steps of Adam have one size for all, and vectors a hundred
// times a step would hardly leave where they were drawn.
type Embedding struct {
	Rows, Width int
}

func (e Embedding) scale() float64 { return math.Sqrt(float64(e.Width)) }

// Init returns "table" [Rows, Width], Gaussian: the values of vectors have a
// standard deviation of 1.
func (e Embedding) Init(rng *rand.Rand) weights.Set {
	return weights.Set{"table": weights.Normal(rng, 1/e.scale(), e.Rows, e.Width)}
}

// Build looks up tokens [...], integers below Rows: [..., Width]. The gradient
// of the table adds up the adjoints of equal tokens. The engine moves tokens
// that are out of range to the nearest row without a word, so that callers check
// them on the host.
func (e Embedding) Build(v weights.Vars, tokens *graph.Node) *graph.Node {
	return graph.MulScalar(graph.Gather(v.Get("table"), graph.ExpandAxes(tokens, -1)), e.scale())
}

// Range returns the vectors of the tokens from first to before end.
func (e Embedding) Range(v weights.Vars, first, end int) *graph.Node {
	return graph.MulScalar(graph.Slice(v.Get("table"), graph.AxisRange(first, end)), e.scale())
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
