package vq

import (
	"github.com/gritvq/gritvq/radius"
	"github.com/gritvq/gritvq/transform"
)

// GRIT composes GRIT-VQ for one codebook: codes pass through the integrated
// transform, and the radius surrogate sends gradients to the encoder and to the
// codes' shared parameters.
func GRIT(r radius.Config, t transform.Config) Config {
	c, _ := Defaults("grit")
	c.Radius, c.Transform = r, t
	return c
}

var gritMethod = method{
	summary:   "radius surrogate and integrated codebook transform (GRIT-VQ)",
	defaults:  gritDefaults,
	estimator: func(c Config) estimator { return radial{c.Radius, c.Codes} },
}

func gritDefaults(c *Config) {
	c.Transform = transform.Default()
	c.Transform.Joint = true
}

// Paper turns a configuration into the paper's letter: literal low-rank M, row
// normalisation with a gain, spectral clip, frozen codes, C' refreshed every
// eight steps, no auxiliary loss and no resets (protocol A).
func (c Config) Paper() Config {
	c.Learn = "frozen"
	c.Radius = radius.Default()
	c.Transform = transform.Default()
	c.Transform.Kind = transform.KindLowRank
	c.Transform.RowNorm = "gain"
	c.Transform.SpectralClip = 2
	c.Transform.Joint = false
	c.Cache = Cache{Period: 8, Gradient: "live"}
	c.Loss.Codebook, c.Loss.Commitment = 0, 0
	c.Resets.Every = 0
	c.Start.Warmup = 0
	return c
}
