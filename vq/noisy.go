package vq

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/radius"

	. "github.com/gomlx/gomlx/core/graph"
)

// NSVQ is noise-substitution vector quantization: training replaces the
// quantization error by noise of the same length in a random direction,
//
//	z_q = z + |ẑ - z| · v/|v|,  v ~ N(0, I),
//
// so that gradients reach latents and codes through the length alone, without an
// auxiliary loss. Inference uses the codes.
var NSVQ = Method{
	Name: "nsvq", Title: "NSVQ",
	Summary:   "quantization error replaced by noise of its length (NSVQ)",
	Defaults:  replaceUnused,
	Paper:     paperReplacing,
	Estimator: func(Config) Estimator { return noiseSubstituted{} },
}

// replaceUnused is the published replacement of NSVQ and DiVeQ: every hundred steps codes
// that fewer than 1 % of these batches chose become copies of used ones.
func replaceUnused(c *Config, _ *Rates) {
	c.Resets.Donor, c.Resets.Rule, c.Resets.Threshold = "used", RuleBatches, 0.01
}

func paperReplacing(c *Config, _ *Rates) {
	c.Start, c.Resets.Until = Start{From: "random"}, 1
}

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

// DiVeQ is differentiable vector quantization by reparameterization: training moves
// the latent by the length of its gap in the code's direction, blurred a little,
//
//	z_q = z + |ẑ - z| · sg[v/|v|],  v = (ẑ - z) + σn,  n ~ N(0, I),
//
// with the standard deviation σ = [Config].Noise. Gradients reach latents and codes
// through the length, without an auxiliary loss. Without noise (the detach variant)
// the surrogate is GRIT's with the Euclidean radius. Inference uses the codes.
var DiVeQ = Method{
	Name: "diveq", Title: "DiVeQ",
	Summary:   "latents moved by the gap's length towards the code, with a little noise (DiVeQ)",
	Defaults:  replaceUnused,
	Paper:     paperReplacing,
	Estimator: func(c Config) Estimator { return directed{noise: c.Noise} },
	Check:     checkNoise,
}

func checkNoise(c Config, _ int) error {
	if !(c.Noise >= 0) || math.IsInf(c.Noise, 1) {
		return fmt.Errorf("quantizer.noise: %g must be a standard deviation, 0 or more", c.Noise)
	}
	return nil
}

type directed struct{ noise float64 }

func (d directed) Connect(ctx *Context, latent, code, index *Node) *Node {
	switch {
	case !ctx.Training:
		return straightThrough{}.Connect(ctx, latent, code, index)
	case d.noise == 0 || ctx.Random == nil:
		return radial{config: radius.Default()}.Connect(ctx, latent, code, index)
	}
	return Add(latent, Mul(gapLength(latent, code), d.towards(ctx, latent, code)))
}

// towards is the blurred unit direction [N,d] from latent to code, without a
// gradient; zero where the two meet and there is no noise.
func (d directed) towards(ctx *Context, latent, code *Node) *Node {
	v := StopGradient(Sub(code, latent))
	if d.noise > 0 {
		v = Add(v, MulScalar(ctx.Random.Normal(latent), d.noise))
	}
	unit, _, _ := direction(v)
	return StopGradient(unit)
}
