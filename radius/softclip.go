package radius

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// softClip is r = τ tanh(δ/τ), family (6). With x = δ/τ: slope sech²x,
// elasticity 2x/sinh 2x. Both fall to 0 for far latents; x is bounded at 40
// (where they are below 1e-33) so that sinh cannot overflow in float32.
var softClip = radial{
	value: func(delta, tau float64) float64 { return tau * math.Tanh(delta/tau) },
	slope: func(delta, tau float64) float64 {
		c := math.Cosh(math.Min(delta/tau, softClipBound))
		return 1 / (c * c)
	},
	elasticity: func(delta, tau float64) float64 {
		x := 2 * math.Min(delta/tau, softClipBound)
		if x < 1e-4 {
			return 1 - x*x/6
		}
		return x / math.Sinh(x)
	},

	graphValue: func(delta, tau *graph.Node) *graph.Node {
		return graph.Mul(tau, graph.Tanh(graph.Div(delta, tau)))
	},
	graphSlope: func(delta, tau *graph.Node) *graph.Node {
		return graph.OneMinus(graph.Square(graph.Tanh(graph.Div(delta, tau))))
	},
	graphElasticity: func(delta, tau *graph.Node) *graph.Node {
		x := graph.MinScalar(graph.MulScalar(graph.Div(delta, tau), 2), 2*softClipBound)
		sinh := graph.MulScalar(graph.Sub(graph.Exp(x), graph.Exp(graph.Neg(x))), 0.5)
		series := graph.OneMinus(graph.MulScalar(graph.Square(x), 1.0/6)) // exact to x⁴ where the quotient cancels
		small := graph.LessThan(x, graph.Scalar(x.Graph(), x.DType(), 0.01))
		return graph.Where(small, series, graph.Div(x, sinh))
	},
}

const softClipBound = 40.0
