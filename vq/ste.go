package vq

// STE is VQ-VAE's quantizer: straight-through gradients, codes pulled to
// their latents by a codebook loss and latents to their codes by the commitment
// loss (β = 0.25 on the encoder's term).
var STE = Method{
	Name: "ste", Title: "STE",
	Summary:  "straight-through VQ-VAE with codebook and commitment losses",
	Defaults: steDefaults,
}

func steDefaults(c *Config, _ *Rates) {
	c.Loss.Codebook, c.Loss.Commitment = 1, 0.25
}
