package radius

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// pseudoHuber is family (7), h(√(1+u²) - 1) with u = δ/h: a smooth Huber whose
// slope u/√(1+u²) rises from 0 to 1. The paper scales by h² instead
// (Config.PaperScale), which multiplies value and slope by h and leaves the
// elasticity 1 + 1/√(1+u²) alone.
var pseudoHuber = radial{
	value: func(delta, h float64) float64 {
		u := delta / h
		// √(1+u²)-1 = u²/(1+√(1+u²)) keeps its digits near zero.
		return h * u * u / (1 + math.Sqrt(1+u*u))
	},
	slope: func(delta, h float64) float64 {
		u := delta / h
		return u / math.Sqrt(1+u*u)
	},
	elasticity: func(delta, h float64) float64 {
		u := delta / h
		return 1 + 1/math.Sqrt(1+u*u)
	},

	graphValue: func(delta, h *graph.Node) *graph.Node {
		u2 := graph.Square(graph.Div(delta, h))
		return graph.Mul(h, graph.Div(u2, graph.OnePlus(graph.Sqrt(graph.OnePlus(u2)))))
	},
	graphSlope: func(delta, h *graph.Node) *graph.Node {
		u := graph.Div(delta, h)
		return graph.Div(u, graph.Sqrt(graph.OnePlus(graph.Square(u))))
	},
	graphElasticity: func(delta, h *graph.Node) *graph.Node {
		u2 := graph.Square(graph.Div(delta, h))
		return graph.OnePlus(graph.Reciprocal(graph.Sqrt(graph.OnePlus(u2))))
	},
}
