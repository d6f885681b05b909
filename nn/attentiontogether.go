package nn

import (
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// recallTogether is Recall for one vector a sequence, x [R, 1, Width], with keys and
// values [R, 1, S, Heads·HeadDim] whose heads lie side by side.
//
// The embedded engine multiplies few rows at a time slowly: a query a head is a fifth of
// its speed. Here a sequence's heads are the rows of one matrix, each with zeros in the
// columns of the other heads, and of each row's result only its own columns are read.
// That is Heads times the work in far less time.
func (a Attention) recallTogether(v weights.Vars, x *graph.Node, source KeyValues, view View) *graph.Node {
	g, rows, inner := x.Graph(), x.Shape().Dim(0), a.inner()
	heads := a.paddedHeads() // the additional ones are not read
	own := constantRow(g, heads*inner, func(i int) int32 {
		if i%inner/a.HeadDim == i/inner {
			return 1
		}
		return 0
	})
	mask := repeatAll(graph.Reshape(graph.ConvertDType(own, x.DType()), 1, heads*inner), rows) // [R, heads·inner]

	queries := repeatRows(graph.Reshape(a.queries(v, x), rows, inner), heads) // [R·heads, inner]
	queries = graph.Mul(graph.Reshape(queries, rows, 1, heads, inner), graph.Reshape(mask, rows, 1, heads, inner))
	gathered := attend(queries, source.Keys, source.Values, view) // [R, 1, heads, inner]

	// Of row h the values of head h.
	diagonal := constantRow(g, rows*a.Heads, func(i int) int32 {
		return int32(i/a.Heads*heads*a.Heads + i%a.Heads*(a.Heads+1))
	})
	parts := graph.Reshape(gathered, rows*heads*a.Heads, a.HeadDim)
	joined := graph.Gather(parts, graph.ExpandAxes(diagonal, -1), true) // [R·Heads, HeadDim]
	return linear(graph.Reshape(joined, rows, 1, inner), v.Get("output"))
}

const (
	kernelRows   = 4       // that the embedded engine multiplies at full speed
	smallProduct = 1 << 22 // multiplications from which it copies both factors first, slow for many small ones
)

func (a Attention) paddedHeads() int { return (a.Heads + kernelRows - 1) / kernelRows * kernelRows }

// together says whether recallTogether is fast for rows sequences of a number of places.
func (a Attention) together(rows, places int) bool {
	return rows*a.paddedHeads()*places*a.inner() < smallProduct
}

// repeatAll repeats x [1, C]: [times, C].
func repeatAll(x *graph.Node, times int) *graph.Node {
	return graph.Gather(x, graph.ExpandAxes(constantRow(x.Graph(), times, func(int) int32 { return 0 }), -1), true)
}
