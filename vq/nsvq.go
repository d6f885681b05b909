package vq

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// NSVQ is noise-substitution vector quantization: training replaces the
// quantization error by noise of the same length in a random direction,
//
//	z_q = z + |ẑ - z| · v/|v|,  v ~ N(0, I),
//
// so that gradients reach latents and codes through the length alone, without an
// auxiliary loss. Inference uses the codes. Dead codes restart beside used ones.
var NSVQ = Method{
	Name: "nsvq", Title: "NSVQ",
	Summary:   "quantization error replaced by noise of its length (NSVQ)",
	Defaults:  func(c *Config, _ *Rates) { c.Resets.Donor = "used" },
	Estimator: func(Config) Estimator { return noiseSubstituted{} },
}

// noiseSubstituted is NSVQ's surrogate; without noise it is the code.
type noiseSubstituted struct{}

func (noiseSubstituted) Connect(ctx *Context, latent, code, index *Node) *Node {
	if !ctx.Training || ctx.Random == nil {
		return straightThrough{}.Connect(ctx, latent, code, index)
	}
	v := StopGradient(ctx.Random.Normal(latent))
	v = Div(v, AddScalar(Sqrt(ReduceAndKeep(Square(v), ReduceSum, -1)), 1e-12))
	return Add(latent, Mul(gapLength(latent, code), v))
}

// gapLength is |code - latent| [N,1] of rows [N,d]. Its gradient is the unit
// vector from latent to code, and zero where they meet.
func gapLength(latent, code *Node) *Node {
	squared := ReduceAndKeep(Square(Sub(code, latent)), ReduceSum, -1)
	apart := GreaterThan(squared, ZerosLike(squared))
	return Where(apart, Sqrt(Where(apart, squared, OnesLike(squared))), ZerosLike(squared))
}
