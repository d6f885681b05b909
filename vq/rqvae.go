package vq

// RQVAE is the residual quantizer of TIGER's semantic IDs: [STE]'s
// straight-through levels and losses, summed over levels, β = 0.25 on the
// encoder's term. It differs from [STE]'s defaults as published: codes are
// placed by k-means on the latents of one first batch of the untrained encoder
// (no warm-up, a sample of 1024), and dead codes are not moved.
var RQVAE = Method{
	Name: "rqvae", Title: "RQ-VAE, as published",
	Summary:  "TIGER's residual VQ-VAE: straight-through levels, k-means start on the first batch",
	Defaults: rqvaeDefaults,
}

// firstBatch is TIGER's batch size, the latents its codes start on.
const firstBatch = 1024

func rqvaeDefaults(c *Config, r *Rates) {
	steDefaults(c, r)
	c.Start.Warmup, c.Start.Sample = 0, firstBatch
	c.Resets.Every = 0
}
