package vq

// KMeansSTE is k-means with straight-through gradients: the vector is cut
// into parts, each with one codebook that starts as the k-means centers of its
// latents and follows them as running means (k-means over batches), while the
// encoder sees the decoder's gradient straight through and a commitment to its
// code (β = 0.25).
var KMeansSTE = Method{
	Name: "kmeans-ste", Title: "k-means + STE",
	Summary:  "product of k-means codebooks that follow their latents, straight-through",
	Defaults: kmeansSTEDefaults,
	Product:  true,
}

func kmeansSTEDefaults(c *Config, _ *Rates) {
	c.Levels, c.Parts = 1, 4
	c.Learn = "ema"
	c.Loss.Commitment = 0.25
}
