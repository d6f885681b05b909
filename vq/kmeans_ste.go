package vq

// KMeansSTE composes k-means with straight-through gradients: the vector is cut
// into parts, each with one codebook that starts as the k-means centers of its
// latents and follows them as running means (k-means over batches), while the
// encoder sees the decoder's gradient straight through and a commitment to its
// code (β = 0.25).
func KMeansSTE() Config {
	c, _ := Defaults("kmeans-ste")
	return c
}

var kmeansSTEMethod = method{
	summary:  "product of k-means codebooks that follow their latents, straight-through",
	defaults: kmeansSTEDefaults,
	product:  true,
}

func kmeansSTEDefaults(c *Config) {
	c.Levels, c.Parts = 1, 4
	c.Learn = "ema"
	c.Loss.Commitment = 0.25
}
