package radius

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// clip is r = min(δ, τ), family (2): k is 1 below the cap and 0 above it, so
// latents far from their code see plain straight-through.
var clip = radial{
	value:      math.Min,
	slope:      clipStep,
	elasticity: clipStep,

	graphValue:      func(delta, tau *graph.Node) *graph.Node { return graph.Min(delta, tau) },
	graphSlope:      graphClipStep,
	graphElasticity: graphClipStep,
}

func clipStep(delta, tau float64) float64 {
	if delta < tau {
		return 1
	}
	return 0
}

func graphClipStep(delta, tau *graph.Node) *graph.Node {
	return graph.Where(graph.LessThan(delta, tau), graph.OnesLike(delta), graph.ZerosLike(delta))
}
