package vq

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/radius"

	. "github.com/gomlx/gomlx/core/graph"
)

// DiVeQ is differentiable vector quantization by reparameterization:
// training moves the latent by the length of its gap in the code's direction,
// blurred a little,
//
//	z_q = z + |ẑ - z| · sg[v/|v|],  v = (ẑ - z) + σn,  n ~ N(0, I),
//
// where σ, the configuration's Noise, is a standard deviation. Gradients reach
// latents and codes through the length, without an auxiliary loss; over residual
// levels there is one surrogate on their sum. Without noise (the detach variant)
// the surrogate is GRIT's with the Euclidean radius. Inference uses the codes.
// Dead codes restart beside used ones.
var DiVeQ = Method{
	Name: "diveq", Title: "DiVeQ",
	Summary:   "latents moved by the gap's length towards the code, with a little noise (DiVeQ)",
	Defaults:  func(c *Config, _ *Rates) { c.Resets.Donor = "used" },
	Estimator: func(c Config) Estimator { return directed{noise: c.Noise} },
	Check:     checkNoise,
}

// checkNoise refuses a noise that is no standard deviation.
func checkNoise(c Config, _ int) error {
	if !(c.Noise >= 0) || math.IsInf(c.Noise, 1) {
		return fmt.Errorf("quantizer.noise: %g must be a standard deviation, 0 or more", c.Noise)
	}
	return nil
}

// directed is DiVeQ's surrogate.
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

// towards is the unit direction [N,d] from latent to code, blurred; a constant
// to gradients. It is zero where the two meet and there is no noise.
func (d directed) towards(ctx *Context, latent, code *Node) *Node {
	v := StopGradient(Sub(code, latent))
	if d.noise > 0 {
		v = Add(v, MulScalar(ctx.Random.Normal(latent), d.noise))
	}
	unit, _, _ := direction(v)
	return StopGradient(unit)
}
