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
	c.Radius, c.Mix = r, t
	return c
}

var gritMethod = method{
	summary:   "radius surrogate and integrated codebook transform (GRIT-VQ)",
	defaults:  gritDefaults,
	estimator: func(c Config) estimator { return radial{c.Radius, c.Codes} },
}

func gritDefaults(c *Config) {
	c.Mix = transform.Default()
	c.Mix.Joint = true
}

// Paper turns a configuration into the paper's letter: literal low-rank M, row
// normalisation with a gain, spectral clip, frozen codes, C' refreshed every
// eight steps, no auxiliary loss and no resets (protocol A).
func (c Config) Paper() Config {
	c.Learn = "frozen"
	c.Radius = radius.Default()
	c.Mix = transform.Default()
	c.Mix.Kind = transform.KindLowRank
	c.Mix.RowNorm = "gain"
	c.Mix.SpectralClip = 2
	c.Mix.Joint = false
	c.Cache = Cache{Period: 8, Gradient: "live"}
	c.Loss.Codebook, c.Loss.Commitment = 0, 0
	c.Resets.Every = 0
	c.Start.Warmup = 0
	return c
}
