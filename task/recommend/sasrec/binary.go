package sasrec

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/nn"
)

// scoresOf are the scores [N] of one item a row.
func (m *Model) scoresOf(hidden, table, items *graph.Node) *graph.Node {
	return graph.ReduceSum(graph.Mul(hidden, graph.Gather(table, graph.ExpandAxes(items, -1))), -1)
}

// others are items [N] other than these, each equally likely.
func (m *Model) others(items *graph.Node, random *nn.Random) *graph.Node {
	step := graph.OnesLike(items)
	if random != nil && m.Items > 1 {
		drawn := graph.MulScalar(random.Uniform(items.Shape().Dimensions...), float64(m.Items-1))
		step = graph.AddScalar(graph.MinScalar(graph.ConvertDType(graph.Floor(drawn), items.DType()), float64(m.Items-2)), 1)
	}
	return graph.ModScalar(graph.Add(items, step), float64(m.Items))
}

func logOf(n int) float64 { return math.Log(float64(n)) }
