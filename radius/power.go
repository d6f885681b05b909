package radius

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// power is r = δ^α, family (3): k = α in ratio mode, αδ^(α-1) in the unit
// modes, where α < 1 diverges as the gap closes (hence the cap on k).
var power = radial{
	value:      math.Pow,
	slope:      func(delta, alpha float64) float64 { return alpha * math.Pow(delta, alpha-1) },
	elasticity: func(_, alpha float64) float64 { return alpha },

	graphValue: graph.Pow,
	graphSlope: func(delta, alpha *graph.Node) *graph.Node {
		return graph.Mul(alpha, graph.Pow(delta, graph.AddScalar(alpha, -1)))
	},
	graphElasticity: func(delta, alpha *graph.Node) *graph.Node {
		return graph.Mul(alpha, graph.OnesLike(delta))
	},
}
