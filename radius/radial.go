package radius

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// radial is a family r = ρ(δ; θ), in float64 and as graph code. Graph functions
// see δ [N,1] > 0 (the caller masks δ = 0) and a scalar θ.
type radial struct {
	value      func(delta, theta float64) float64 // ρ
	slope      func(delta, theta float64) float64 // ρ' = k of the unit modes
	elasticity func(delta, theta float64) float64 // δρ'/ρ = k of ratio mode

	graphValue      func(delta, theta *graph.Node) *graph.Node
	graphSlope      func(delta, theta *graph.Node) *graph.Node
	graphElasticity func(delta, theta *graph.Node) *graph.Node
}

// K is the gradient factor of a radial family at gap delta, capped at MaxK:
// the elasticity in ratio mode, the slope in the unit modes. It panics for
// families that are not radial.
func (c Config) K(delta, theta float64) float64 {
	f := families[c.Kind].radial
	if delta == 0 {
		return 0
	}
	k := 0.0
	if c.Mode == Ratio {
		k = f.elasticity(delta, theta)
	} else {
		k = f.slope(delta, theta)
	}
	if c.Kind == PseudoHuber && c.PaperScale && c.Mode != Ratio {
		k *= theta
	}
	return math.Min(k, c.MaxK)
}

// Value is r(code, latent) in float64. metric is the Mahalanobis metric
// (ignored by the other families).
func (c Config) Value(code, latent []float64, theta float64, metric Metric) float64 {
	if f := families[c.Kind].radial; f != nil {
		r := f.value(gap(code, latent), theta)
		if c.Kind == PseudoHuber && c.PaperScale {
			r *= theta
		}
		return r
	}
	d := difference(code, latent)
	if c.Kind == PNorm {
		return pNorm(d, theta)
	}
	return metric.norm(d)
}

func difference(code, latent []float64) []float64 {
	d := make([]float64, len(code))
	for i := range d {
		d[i] = code[i] - latent[i]
	}
	return d
}

func gap(code, latent []float64) float64 {
	sum := 0.0
	for i := range code {
		sum += (code[i] - latent[i]) * (code[i] - latent[i])
	}
	return math.Sqrt(sum)
}
