package radius

import "github.com/gomlx/gomlx/core/graph"

// euclidean is r = δ, family (1): k = 1 in every mode.
var euclidean = radial{
	value:      func(delta, _ float64) float64 { return delta },
	slope:      func(_, _ float64) float64 { return 1 },
	elasticity: func(_, _ float64) float64 { return 1 },

	graphValue:      func(delta, _ *graph.Node) *graph.Node { return delta },
	graphSlope:      func(delta, _ *graph.Node) *graph.Node { return graph.OnesLike(delta) },
	graphElasticity: func(delta, _ *graph.Node) *graph.Node { return graph.OnesLike(delta) },
}
