package radius

import . "github.com/gomlx/gomlx/core/graph"

// huber is family (4): δ²/2h inside h, δ - h/2 outside. In ratio mode k = 2
// inside, which reflects the gradient along s; in the unit modes k = δ/h grows
// to 1 and stays there, which is the well-behaved choice.
var huber = family{kind: Huber, hasScalar: true, radial: &radial{
	value: func(delta, h *Node) *Node {
		inside := Div(Square(delta), MulScalar(h, 2))
		outside := Sub(delta, MulScalar(h, 0.5))
		return Where(LessOrEqual(delta, h), inside, outside)
	},
	slope: func(delta, h *Node) *Node { return MinScalar(Div(delta, h), 1) },
	elasticity: func(delta, h *Node) *Node {
		// Clamping δ to h from below makes the outside branch give 2 inside.
		outer := Max(delta, h)
		return Div(outer, Sub(outer, MulScalar(h, 0.5)))
	},
}}
