package radius

import . "github.com/gomlx/gomlx/core/graph"

// clip is r = min(δ, τ), family (2): k is 1 below the cap and 0 above it, so
// latents far from their code see plain straight-through.
var clip = family{kind: Clipped, hasScalar: true, radial: &radial{
	value:      Min,
	slope:      below,
	elasticity: below,
}}

// below is 1 where δ < τ and 0 elsewhere.
func below(delta, tau *Node) *Node {
	return Where(LessThan(delta, tau), OnesLike(delta), ZerosLike(delta))
}
