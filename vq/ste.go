package vq

// STE composes VQ-VAE's quantizer: straight-through gradients, codes pulled to
// their latents by a codebook loss and latents to their codes by the commitment
// loss (β = 0.25 on the encoder's term).
func STE() Config {
	c, _ := Defaults("ste")
	return c
}

var steMethod = method{
	summary:  "straight-through VQ-VAE with codebook and commitment losses",
	defaults: steDefaults,
}

func steDefaults(c *Config) {
	c.Loss.Codebook, c.Loss.Commitment = 1, 0.25
}
