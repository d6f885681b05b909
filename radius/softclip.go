package radius

import . "github.com/gomlx/gomlx/core/graph"

// softClipBound keeps sinh from overflowing in float32; both factors are below
// 1e-33 there.
const softClipBound = 40.0

// softClip is r = τ tanh(δ/τ), family (6). With x = δ/τ: slope sech²x,
// elasticity 2x/sinh 2x. Both fall to 0 for far latents.
var softClip = family{kind: SoftClip, hasScalar: true, radial: &radial{
	value: func(delta, tau *Node) *Node { return Mul(tau, Tanh(Div(delta, tau))) },
	slope: func(delta, tau *Node) *Node { return OneMinus(Square(Tanh(Div(delta, tau)))) },
	elasticity: func(delta, tau *Node) *Node {
		x := MinScalar(MulScalar(Div(delta, tau), 2), 2*softClipBound)
		sinh := MulScalar(Sub(Exp(x), Exp(Neg(x))), 0.5)
		series := OneMinus(MulScalar(Square(x), 1.0/6)) // exact to x⁴ where the quotient cancels
		small := LessThan(x, Scalar(x.Graph(), x.DType(), 0.01))
		return Where(small, series, Div(x, sinh))
	},
}}
