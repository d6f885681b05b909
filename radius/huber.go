package radius

import "github.com/gomlx/gomlx/core/graph"

// huber is family (4): δ²/2h inside h, δ - h/2 outside. In ratio mode k = 2
// inside, which reflects the gradient along s; in the unit modes k = δ/h grows
// to 1 and stays there, which is the well-behaved choice.
var huber = radial{
	value: func(delta, h float64) float64 {
		if delta <= h {
			return delta * delta / (2 * h)
		}
		return delta - h/2
	},
	slope: func(delta, h float64) float64 {
		if delta <= h {
			return delta / h
		}
		return 1
	},
	elasticity: func(delta, h float64) float64 {
		if delta <= h {
			return 2
		}
		return delta / (delta - h/2)
	},

	graphValue: func(delta, h *graph.Node) *graph.Node {
		inside := graph.Div(graph.Square(delta), graph.MulScalar(h, 2))
		outside := graph.Sub(delta, graph.MulScalar(h, 0.5))
		return graph.Where(graph.LessOrEqual(delta, h), inside, outside)
	},
	graphSlope: func(delta, h *graph.Node) *graph.Node {
		return graph.MinScalar(graph.Div(delta, h), 1)
	},
	graphElasticity: func(delta, h *graph.Node) *graph.Node {
		// Clamping δ to h from below makes the outside branch give 2 inside.
		outer := graph.Max(delta, h)
		return graph.Div(outer, graph.Sub(outer, graph.MulScalar(h, 0.5)))
	},
}
