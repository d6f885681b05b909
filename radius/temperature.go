package radius

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// temperature is r = T ln(1 + δ/T), family (9), usually scheduled downwards.
// With x = δ/T: slope 1/(1+x), elasticity x/((1+x) ln(1+x)).
var temperature = radial{
	value: func(delta, t float64) float64 { return t * math.Log1p(delta/t) },
	slope: func(delta, t float64) float64 { return 1 / (1 + delta/t) },
	elasticity: func(delta, t float64) float64 {
		x := delta / t
		return x / ((1 + x) * math.Log1p(x))
	},

	graphValue: func(delta, t *graph.Node) *graph.Node {
		return graph.Mul(t, graph.Log1p(graph.Div(delta, t)))
	},
	graphSlope: func(delta, t *graph.Node) *graph.Node {
		return graph.Reciprocal(graph.OnePlus(graph.Div(delta, t)))
	},
	graphElasticity: func(delta, t *graph.Node) *graph.Node {
		x := graph.Div(delta, t)
		return graph.Div(x, graph.Mul(graph.OnePlus(x), graph.Log1p(x)))
	},
}
