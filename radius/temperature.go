package radius

import . "github.com/gomlx/gomlx/core/graph"

// temperature is r = T ln(1 + δ/T), family (9), usually scheduled downwards.
// With x = δ/T: slope 1/(1+x), elasticity x/((1+x) ln(1+x)).
var temperature = family{kind: Temperature, hasScalar: true, radial: &radial{
	value: func(delta, t *Node) *Node { return Mul(t, Log1p(Div(delta, t))) },
	slope: func(delta, t *Node) *Node { return Reciprocal(OnePlus(Div(delta, t))) },
	elasticity: func(delta, t *Node) *Node {
		x := Div(delta, t)
		return Div(x, Mul(OnePlus(x), Log1p(x)))
	},
}}
