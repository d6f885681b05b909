package vq

import (
	"github.com/gritvq/gritvq/radius"
	"github.com/gritvq/gritvq/transform"
)

// Values of [Config].Distance.
const (
	Euclidean = "euclidean"
	Cosine    = "cosine"
)

// Values of [Config].Search.
const (
	Beam  = "beam"
	Local = "local"
)

// Values of [Resets].Rule.
const (
	RuleTokens  = "tokens"
	RuleBatches = "batches"
)

// Config describes a quantizer. Start from [Defaults] of a method.
type Config struct {
	Method    string           `yaml:"method" doc:"Quantizer; gritvq methods lists them with one line each."`
	Codes     int              `yaml:"codes" doc:"Codes per level (K)."`
	Levels    int              `yaml:"levels" doc:"Residual levels: each codes what the ones before left over."`
	Parts     int              `yaml:"parts" doc:"Product quantization: slices of the vector quantized side by side."`
	Shared    bool             `yaml:"shared" doc:"All residual levels share one codebook."`
	Beam      int              `yaml:"beam"`
	Search    string           `yaml:"search" enum:"beam|local"`
	Dropout   float64          `yaml:"dropout"`
	Distance  string           `yaml:"distance" enum:"euclidean|cosine"`
	Start     Start            `yaml:"start" doc:"How codes start."`
	Learn     string           `yaml:"learn" enum:"gradient|ema|frozen"`
	Average   Average          `yaml:"average"`
	Loss      Loss             `yaml:"loss" doc:"Auxiliary losses (mean squared over all elements)."`
	Radius    radius.Config    `yaml:"radius" doc:"GRIT's radius surrogate."`
	Transform transform.Config `yaml:"transform" doc:"GRIT's integrated transform of the codebook, E' = M E W."`
	Cache     Cache            `yaml:"cache" doc:"Reuse of the transformed codebook between steps."`
	Resets    Resets           `yaml:"resets" doc:"Dead codes are moved onto recent latents or beside used codes."`
	Noise     float64          `yaml:"noise"`
	Grid      []int            `yaml:"grid" doc:"fsq: values of each dimension (empty: the published grid for the number of codes)."`
	Gumbel    Gumbel           `yaml:"gumbel" doc:"gumbel, hypervq: the sampled soft choice."`
	Entropy   Entropy          `yaml:"entropy" doc:"lfq, ibq: sharp choices for each latent, even use over the batch."`
	Curvature float64          `yaml:"curvature" doc:"hypervq: curvature of the Poincare ball."`
	Side      int              `yaml:"-"` // of the grid of a picture's cells; 0 for vectors
}

// Enums implements config.Enumerated.
func (Config) Enums() map[string][]string { return map[string][]string{"method": names} }

// Gumbel configures a sampled soft choice among codes.
type Gumbel struct {
	Start float64 `yaml:"start" doc:"Temperature at the start; it falls geometrically."`
	End   float64 `yaml:"end" doc:"Temperature at the end."`
	Prior float64 `yaml:"prior" doc:"Weight of the divergence of the choice from uniform."`
}

// Entropy configures the entropy loss of lookup-free quantizers.
type Entropy struct {
	Weight      float64 `yaml:"weight" doc:"Weight of mean H(p) - H(mean p)."`
	Temperature float64 `yaml:"temperature" doc:"Of the soft choice it is measured on."`
}

// Start says where codes begin.
type Start struct {
	From   string  `yaml:"from" enum:"rq|kmeans|data|random"`
	Warmup float64 `yaml:"warmup"`
	Sample int     `yaml:"sample" doc:"Latents drawn for placing the codes (0: 64 a code, at least 16384)."`
	Noise  float64 `yaml:"noise" doc:"Standard deviation of noise added to started codes, relative to the latents'."`
	Shrink float64 `yaml:"shrink"`
}

// Average configures exponential moving averages of codes.
type Average struct {
	Decay   float64 `yaml:"decay" doc:"Weight of the past, per step."`
	Epsilon float64 `yaml:"epsilon" doc:"Laplace smoothing of the counts."`
	Pull    float64 `yaml:"pull"`
}

// ObsoleteKeys implements config.Obsolete: codes under a transform once followed
// their averages every few steps.
func (Average) ObsoleteKeys() []string { return []string{"every"} }

// Loss weights the auxiliary losses.
type Loss struct {
	Codebook         float64 `yaml:"codebook" doc:"Weight of |code - sg latent|^2."`
	Commitment       float64 `yaml:"commitment" doc:"Weight of |latent - sg code|^2 (the encoder's term, beta of VQ-VAE)."`
	Usage            float64 `yaml:"usage" doc:"Weight of the usage regulariser sum max(0, threshold/K - p)."`
	UsageThreshold   float64 `yaml:"usage_threshold" doc:"Share of 1/K below which a code counts as under-used."`
	UsageSoftness    float64 `yaml:"usage_softness"`
	AttentionEntropy float64 `yaml:"attention_entropy" doc:"Weight of the attention mixer's mean row entropy."`
	Context          float64 `yaml:"context" doc:"Under transform.context: weight of |shift + scale*code - sg latent|^2."`
	Level            float64 `yaml:"level"`
}

// Cache configures reuse of C' between refreshes.
type Cache struct {
	Period   int    `yaml:"period" doc:"Steps between refreshes of the transformed codebook (T; 1 rebuilds it every step)."`
	Gradient string `yaml:"gradient" enum:"live|accumulate"`
}

// Resets configures the revival of dead codes.
type Resets struct {
	Every     int     `yaml:"every" doc:"Steps between scans for dead codes (0 = never)."`
	Rule      string  `yaml:"rule" enum:"tokens|batches"`
	Threshold float64 `yaml:"threshold" doc:"The share below which a code is dead."`
	Window    int     `yaml:"window" doc:"Least tokens a code position must have seen since its last scan, per code."`
	Until     float64 `yaml:"until" doc:"Fraction of training after which codes are left in peace."`
	Donor     string  `yaml:"donor" enum:"latents|used"`
}

func commonDefaults() Config {
	return Config{
		Codes: 256, Levels: 4, Parts: 1, Beam: 1, Search: Beam, Distance: Euclidean,
		Start:     Start{From: "kmeans", Warmup: 0.2, Shrink: 4},
		Learn:     "gradient",
		Average:   Average{Decay: 0.99, Epsilon: 1e-5},
		Loss:      Loss{UsageThreshold: 0.1, UsageSoftness: 1, Context: 0.25},
		Radius:    radius.Default(),
		Transform: transform.None(),
		Cache:     Cache{Period: 1, Gradient: "live"},
		Resets:    Resets{Every: 100, Rule: RuleTokens, Threshold: 0.1, Window: 10, Until: 0.8, Donor: "latents"},
		Noise:     1e-3,
		Gumbel:    Gumbel{Start: 1, End: 0.1, Prior: 5e-4},
		Entropy:   Entropy{Weight: 0.1, Temperature: 0.01},
		Curvature: 1,
	}
}

// Normalized says whether latents are scaled to unit length before the search.
func (c Config) Normalized() bool {
	return c.Distance == Cosine || c.Transform.RowNorm == transform.RowNormLatent
}

// Rotated says whether the model around the quantizer must rotate vectors.
func (c Config) Rotated() bool { return methods[c.Method].Rotated }

// Earlier returns the configuration that keys absent from a stored one stand for: the
// behaviour of the program before these keys existed.
func (c Config) Earlier() Config {
	c.Beam, c.Start.Shrink, c.Transform.Context, c.Resets.Rule = 1, 0, 0, RuleTokens
	if c.Method == RQ.Name {
		c.Beam = 5
	}
	if c.Method != QINCo.Name {
		c.Transform.Levels, c.Loss.Level = transform.LevelsNone, 0
	}
	return c
}

// SearchesBeam says whether codes depend on a beam: training then takes the codes that
// a search outside the graph finds with it, as encoding does. Cells in phases, whose
// codes depend on those before, take the nearest code of each level in training.
func (c Config) SearchesBeam() bool {
	return (c.Beam > 1 || c.Search == Local) && c.Levels > 1 && methods[c.Method].Tabled() && c.Transform.Context == 0
}

// Arrange sets levels times parts codes a vector: side by side for product
// quantizers, as given for all others.
func (c *Config) Arrange(levels, parts int) {
	c.Levels, c.Parts = levels, parts
	if methods[c.Method].Product {
		c.Levels, c.Parts = 1, levels*parts
	}
}

// Placed reports whether codes start on data, which needs at least one latent a code;
// codes of a fixed grid do not.
func (c Config) Placed() bool { return !methods[c.Method].Implicit }

// texts describe keys whose tags would be too long, by section.
var texts = map[string]map[string]string{
	"quantizer": {
		"beam": "Partial encodings kept from level to level, in training and when encoding; 1 takes the nearest code of each level.",
		"search": "How codes of several levels are found: the best encoding of the beam, or local: that one, improved by exchanging " +
			"codes of all levels (iterated local search, as method lsq), where no code depends on those before it. A classical " +
			"start is fitted for it.",
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
		"from": "rq (all levels fitted together, as method rq does, or lsq for a local search; one level is k-means), kmeans " +
			"(level by level; both on latents of the untrained or warmed-up encoder), data (random latents) or random (uniform " +
			"in +-1/K). Shared levels and cosine distances take kmeans for rq.",
		"warmup": "Share of the steps trained without quantization before the codes are placed (none without a " +
			"network, or with pictures' linear path).",
		"shrink": "rq, lsq: codes are sum/(count + shrink) of the latents they stand for, less the other levels' codes, so that " +
			"codes of few latents overfit less. Where the error is small beside the codes, they shrink less.",
	},
	"average": {
		"pull": "Codes that learn by gradient also go this share of the way that averaged ones would (0: none, 1: all of it).",
	},
	"loss": {
		"level": "Weight of |latent - sum of codes so far|^2 at every level before the last, relative to what the level had to " +
			"code; the last has weight 1 (0: no such loss, or 0.1 with transform.levels).",
		"usage_softness": "Temperature of the soft assignment that carries the regulariser's gradient, relative to the mean gap.",
	},
	"cache": {
		"gradient": "live: codes are found in the cache and gathered from live parameters; accumulate: their gradient is " +
			"collected and sent through the transform once a refresh.",
	},
	"resets": {
		"rule": "What is shared: tokens (the code drew less than the threshold times 1/K of the window's tokens) or batches (it was " +
			"chosen in less than this share of the batches since the last scan, as published for NSVQ and DiVeQ with 0.01).",
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
