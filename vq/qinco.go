package vq

import (
	"fmt"

	"github.com/gritvq/gritvq/transform"
)

// QINCo is residual quantization with implicit neural codebooks (Huijben et al. 2024):
// every level's codes are the output of a network of a stored code and of the vectors
// sent before, c' = f(c, x̂) with a linear layer over both and residual blocks. It is
// trained as QINCo2 (Vallaeys et al. 2025) is: blocks without effect at the start, codes
// from residual k-means with noise, candidates by a second codebook, a beam over levels
// and a loss at every level with equal weights.
var QINCo = Method{
	Name: "qinco", Title: "QINCo",
	Summary:  "codes of later levels are networks of the code and of what was sent (QINCo)",
	Defaults: qincoDefaults,
	Paper:    func(c *Config, _ *Rates) { c.Resets.Every = 0 },
	Check:    checkQINCo,
	Concat:   true,
}

func qincoDefaults(c *Config, _ *Rates) {
	c.Transform.Levels, c.Transform.Hidden, c.Transform.Blocks = transform.LevelsImplicit, 256, 2
	c.Loss.Level, c.Beam = 1, 8
	c.Start.Noise = 0.1
}

func checkQINCo(c Config, _ int) error {
	if c.Transform.Levels != transform.LevelsImplicit {
		return fmt.Errorf("quantizer.transform.levels: qinco is the network of its codes; use implicit, or another method")
	}
	return nil
}
