package radius

import . "github.com/gomlx/gomlx/core/graph"

// euclidean is r = δ, family (1): k = 1 in every mode.
var euclidean = family{kind: Euclidean, radial: &radial{
	value:      func(delta, _ *Node) *Node { return delta },
	slope:      func(delta, _ *Node) *Node { return OnesLike(delta) },
	elasticity: func(delta, _ *Node) *Node { return OnesLike(delta) },
}}
