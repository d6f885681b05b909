package vq

// texts describe keys whose tags would be too long, by section.
var texts = map[string]map[string]string{
	"quantizer": {
		"dropout": "Probability that a training step uses only a random number of leading levels, so that fewer levels " +
			"decode well.",
		"distance": "What makes a code the nearest; cosine puts latents and codes on the unit sphere (methods that store " +
			"a codebook, one level).",
		"learn": "Raw codes E: by gradient or ema (protocol B; ema wants a loss.commitment to hold the encoder), or frozen " +
			"(protocol A: only the transform learns).",
		"average": "Running averages: of codes that learn by ema, and of how often others are chosen that are pulled.",
		"noise":   "diveq, sf-diveq: standard deviation of the noise on the quantization direction (0 is the detach variant).",
	},
	"start": {
		"from": "kmeans (on latents of the untrained or warmed-up encoder), data (random latents) or random (uniform in +-1/K).",
		"warmup": "Share of the steps trained without quantization before the codes are placed (without a network there is " +
			"nothing to warm up).",
	},
	"average": {
		"pull": "Codes that learn by gradient also go this share of the way that averaged ones would (0: none, 1: all of it).",
	},
	"loss": {
		"usage_softness": "Temperature of the soft assignment that carries the regulariser's gradient, relative to the mean gap.",
	},
	"cache": {
		"gradient": "live: codes are found in the cache and gathered from live parameters; accumulate: their gradient is " +
			"collected and sent through the transform once a refresh.",
	},
	"resets": {
		"donor": "What a dead code becomes: a latent of the current batch, or a copy of a used code, drawn by usage, plus tiny noise.",
	},
}

// Docs implements config.Documented, as do its namesakes.
func (Config) Docs() map[string]string  { return texts["quantizer"] }
func (Start) Docs() map[string]string   { return texts["start"] }
func (Average) Docs() map[string]string { return texts["average"] }
func (Loss) Docs() map[string]string    { return texts["loss"] }
func (Cache) Docs() map[string]string   { return texts["cache"] }
func (Resets) Docs() map[string]string  { return texts["resets"] }
