package radius

import . "github.com/gomlx/gomlx/core/graph"

// pseudoHuber is family (7), h(√(1+u²) - 1) with u = δ/h: a smooth Huber whose
// slope u/√(1+u²) rises from 0 to 1. The paper scales by h² instead
// (Config.PaperScale), which multiplies value and slope by h and leaves the
// elasticity 1 + 1/√(1+u²) alone.
var pseudoHuber = family{kind: PseudoHuber, hasScalar: true, radial: &radial{
	paperScale: true,
	value: func(delta, h *Node) *Node {
		u2 := Square(Div(delta, h))
		// √(1+u²)-1 = u²/(1+√(1+u²)) keeps its digits near zero.
		return Mul(h, Div(u2, OnePlus(Sqrt(OnePlus(u2)))))
	},
	slope: func(delta, h *Node) *Node {
		u := Div(delta, h)
		return Div(u, Sqrt(OnePlus(Square(u))))
	},
	elasticity: func(delta, h *Node) *Node {
		u2 := Square(Div(delta, h))
		return OnePlus(Reciprocal(Sqrt(OnePlus(u2))))
	},
}}
