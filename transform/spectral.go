package transform

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// clipIterations is how many power iterations a training step spends: 4 d²
// multiplications each.
const clipIterations = 2

// ClippedFeature bounds the spectral norm of w [d,d] inside a training step: it
// returns w rescaled to SpectralClip where its norm is larger, and the next
// power-iteration vector of u [d] ("state/feature_u"). The vector tracks a slowly
// moving W from step to step; power iteration approaches the norm from below. It
// is meant for the update after an optimizer step and carries no gradient. With
// SpectralClip 0 it returns w itself.
func (c Config) ClippedFeature(w, u *Node) (clipped, nextU *Node) {
	if c.SpectralClip <= 0 {
		return w, u
	}
	w, u = StopGradient(w), StopGradient(u)
	tiny := Scalar(w.Graph(), w.DType(), 1e-30)
	length := func(x *Node) *Node { return Max(Sqrt(ReduceAllSum(Square(x))), tiny) }
	start := Div(u, length(u))
	right := start
	var norm *Node
	for range clipIterations {
		left := Dot(w, right).Product()
		left = Div(left, length(left))
		right = Dot(left, w).Product()
		norm = length(right)
		right = Div(right, norm)
	}
	right = Where(GreaterThan(norm, tiny), right, start) // a zero w has no direction
	return Mul(w, MinScalar(Div(Scalar(w.Graph(), w.DType(), c.SpectralClip), norm), 1.0)), right
}
