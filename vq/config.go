package vq

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/radius"
	"github.com/gritvq/gritvq/transform"
)

// Values of [Config].Distance.
const (
	Euclidean = "euclidean"
	Cosine    = "cosine"
)

// Config describes a quantizer. Start from [Defaults] of a method.
type Config struct {
	Method    string           `yaml:"method" enum:"grit|ste|ema|gumbel|nsvq|diveq|sf-diveq|simvq|fsq|lfq|hypervq|rotation|ibq|rqvae|kmeans-ste|kmeans|pq|opq|rq|lsh" doc:"Quantizer; gritvq methods lists them with one line each."`
	Codes     int              `yaml:"codes" doc:"Codes per level (K)."`
	Levels    int              `yaml:"levels" doc:"Residual levels: each codes what the ones before left over."`
	Parts     int              `yaml:"parts" doc:"Product quantization: slices of the vector quantized side by side."`
	Shared    bool             `yaml:"shared" doc:"All residual levels share one codebook."`
	Dropout   float64          `yaml:"dropout" doc:"Probability that a training step uses only a random number of leading levels, so that fewer levels decode well."`
	Distance  string           `yaml:"distance" enum:"euclidean|cosine" doc:"What makes a code the nearest; cosine puts latents and codes on the unit sphere (methods that store a codebook, one level)."`
	Start     Start            `yaml:"start" doc:"How codes start."`
	Learn     string           `yaml:"learn" enum:"gradient|ema|frozen" doc:"Raw codes E: by gradient or ema (protocol B; ema wants a loss.commitment to hold the encoder), or frozen (protocol A: only the transform learns)."`
	Average   Average          `yaml:"average" doc:"Running averages: of codes that learn by ema, and of how often others are chosen that are pulled."`
	Loss      Loss             `yaml:"loss" doc:"Auxiliary losses (mean squared over all elements)."`
	Radius    radius.Config    `yaml:"radius" doc:"GRIT's radius surrogate."`
	Transform transform.Config `yaml:"transform" doc:"GRIT's integrated transform of the codebook, E' = M E W."`
	Cache     Cache            `yaml:"cache" doc:"Reuse of the transformed codebook between steps."`
	Resets    Resets           `yaml:"resets" doc:"Dead codes are moved onto recent latents or beside used codes."`
	Noise     float64          `yaml:"noise" doc:"diveq, sf-diveq: standard deviation of the noise on the quantization direction (0 is the detach variant)."`
	Grid      []int            `yaml:"grid" doc:"fsq: values of each dimension (empty: the published grid for the number of codes)."`
	Gumbel    Gumbel           `yaml:"gumbel" doc:"gumbel, hypervq: the sampled soft choice."`
	Entropy   Entropy          `yaml:"entropy" doc:"lfq, ibq: sharp choices for each latent, even use over the batch."`
	Curvature float64          `yaml:"curvature" doc:"hypervq: curvature of the Poincare ball."`
}

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
	From   string  `yaml:"from" enum:"kmeans|data|random" doc:"kmeans (on latents of the untrained or warmed-up encoder), data (random latents) or random (uniform in +-1/K)."`
	Warmup float64 `yaml:"warmup" doc:"Share of the steps trained without quantization before the codes are placed (without a network there is nothing to warm up)."`
	Sample int     `yaml:"sample" doc:"Latents drawn for placing the codes (0: 64 a code, at least 16384)."`
	Noise  float64 `yaml:"noise" doc:"Standard deviation of noise added to started codes, relative to the latents'."`
}

// Average configures exponential moving averages of codes.
type Average struct {
	Decay   float64 `yaml:"decay" doc:"Weight of the past, per step."`
	Epsilon float64 `yaml:"epsilon" doc:"Laplace smoothing of the counts."`
	Every   int     `yaml:"every" doc:"Under a transform: steps between solves for E."`
	Pull    float64 `yaml:"pull" doc:"Codes that learn by gradient also go this share of the way that averaged ones would (0: none, 1: all of it)."`
}

// Loss weights the auxiliary losses.
type Loss struct {
	Codebook         float64 `yaml:"codebook" doc:"Weight of |code - sg latent|^2."`
	Commitment       float64 `yaml:"commitment" doc:"Weight of |latent - sg code|^2 (the encoder's term, beta of VQ-VAE)."`
	Usage            float64 `yaml:"usage" doc:"Weight of the usage regulariser sum max(0, threshold/K - p)."`
	UsageThreshold   float64 `yaml:"usage_threshold" doc:"Share of 1/K below which a code counts as under-used."`
	UsageSoftness    float64 `yaml:"usage_softness" doc:"Temperature of the soft assignment that carries the regulariser's gradient, relative to the mean gap."`
	AttentionEntropy float64 `yaml:"attention_entropy" doc:"Weight of the attention mixer's mean row entropy."`
}

// Cache configures reuse of C' between refreshes.
type Cache struct {
	Period   int    `yaml:"period" doc:"Steps between refreshes of the transformed codebook (T; 1 rebuilds it every step)."`
	Gradient string `yaml:"gradient" enum:"live|accumulate" doc:"live: codes are found in the cache and gathered from live parameters; accumulate: their gradient is collected and sent through the transform once a refresh."`
}

// Resets configures the revival of dead codes.
type Resets struct {
	Every     int     `yaml:"every" doc:"Steps between scans for dead codes (0 = never)."`
	Threshold float64 `yaml:"threshold" doc:"A code is dead when it drew less than this share of 1/K of the window's tokens."`
	Window    int     `yaml:"window" doc:"Least tokens a code position must have seen since its last scan, per code."`
	Until     float64 `yaml:"until" doc:"Fraction of training after which codes are left in peace."`
	Donor     string  `yaml:"donor" enum:"latents|used" doc:"What a dead code becomes: a latent of the current batch, or a copy of a used code, drawn by usage, plus tiny noise."`
}

// commonDefaults are the settings methods start from.
func commonDefaults() Config {
	return Config{
		Codes: 256, Levels: 4, Parts: 1, Distance: Euclidean,
		Start:     Start{From: "kmeans", Warmup: 0.2},
		Learn:     "gradient",
		Average:   Average{Decay: 0.99, Epsilon: 1e-5, Every: 8},
		Loss:      Loss{UsageThreshold: 0.1, UsageSoftness: 1},
		Radius:    radius.Default(),
		Transform: untransformed(),
		Cache:     Cache{Period: 1, Gradient: "live"},
		Resets:    Resets{Every: 100, Threshold: 0.1, Window: 10, Until: 0.8, Donor: "latents"},
		Noise:     1e-3,
		Gumbel:    Gumbel{Start: 1, End: 0.1, Prior: 5e-4},
		Entropy:   Entropy{Weight: 0.1, Temperature: 0.01},
		Curvature: 1,
	}
}

// Validate reports the first setting that cannot work for latents of dimension
// dim.
func (c Config) Validate(dim int) error {
	m, ok := methods[c.Method]
	if !ok {
		return fmt.Errorf("quantizer.method: unknown method %q, use one of %s", c.Method, strings.Join(MethodNames(), ", "))
	}
	switch {
	case c.Codes < 2:
		return fmt.Errorf("quantizer.codes: %d is too few, use at least 2", c.Codes)
	case c.Levels < 1:
		return fmt.Errorf("quantizer.levels: %d is too few, use at least 1", c.Levels)
	case c.Parts < 1 || c.Parts > dim:
		return fmt.Errorf("quantizer.parts: %d must be between 1 and the latent dimension %d", c.Parts, dim)
	case c.Dropout < 0 || c.Dropout > 1:
		return fmt.Errorf("quantizer.dropout: %g must be between 0 and 1", c.Dropout)
	case c.Start.Warmup < 0 || c.Start.Warmup >= 1:
		return fmt.Errorf("quantizer.start.warmup: %g must be at least 0 and below 1", c.Start.Warmup)
	case c.Start.Sample < 0 || c.Start.Noise < 0:
		return fmt.Errorf("quantizer.start: sample and noise must not be negative")
	case c.Average.Decay <= 0 || c.Average.Decay >= 1 || c.Average.Epsilon <= 0 || c.Average.Every < 1:
		return fmt.Errorf("quantizer.average: need 0 < decay < 1, epsilon > 0 and every >= 1")
	case c.Average.Pull < 0 || c.Average.Pull > 1:
		return fmt.Errorf("quantizer.average.pull: %g must be between 0 and 1", c.Average.Pull)
	case c.Average.Pull > 0 && (m.level != nil || m.classical != nil):
		return fmt.Errorf("quantizer.average.pull: %s has no codes that go to what chose them; set it to 0", c.Method)
	case c.Average.Pull > 0 && c.Learn != "gradient":
		return fmt.Errorf("quantizer.average.pull: is for codes that learn by gradient; with learn: %s set it to 0", c.Learn)
	case c.Loss.UsageSoftness <= 0:
		return fmt.Errorf("quantizer.loss.usage_softness: %g must be positive", c.Loss.UsageSoftness)
	case c.Cache.Period < 1:
		return fmt.Errorf("quantizer.cache.period: %d must be at least 1", c.Cache.Period)
	case c.Resets.Every < 0 || c.Resets.Threshold < 0 || c.Resets.Window < 0:
		return fmt.Errorf("quantizer.resets: every, threshold and window must not be negative")
	}
	for _, choice := range []struct {
		key, value string
		allowed    []string
	}{
		{"distance", cmp.Or(c.Distance, Euclidean), []string{Euclidean, Cosine}},
		{"start.from", c.Start.From, []string{"kmeans", "data", "random"}},
		{"learn", c.Learn, []string{"gradient", "ema", "frozen"}},
		{"cache.gradient", c.Cache.Gradient, []string{"live", "accumulate"}},
		{"resets.donor", cmp.Or(c.Resets.Donor, "latents"), []string{"latents", "used"}},
	} {
		if !slices.Contains(choice.allowed, choice.value) {
			return fmt.Errorf("quantizer.%s: unknown value %q, use one of %s", choice.key, choice.value, strings.Join(choice.allowed, ", "))
		}
	}
	attends := strings.HasPrefix(string(c.Transform.Kind), string(transform.KindAttention))
	if c.Learn == "frozen" && attends && c.Resets.Every > 0 {
		return fmt.Errorf("quantizer.resets.every: frozen codes under attention cannot be moved; set it to 0")
	}
	if c.Cache.Period > 1 && c.Cache.Gradient == "accumulate" && c.Loss.AttentionEntropy > 0 {
		return fmt.Errorf("quantizer.loss.attention_entropy: its gradient would be lost between refreshes; use cache.gradient: live")
	}
	if w := c.Loss; min(w.Codebook, w.Commitment, w.Usage, w.UsageThreshold, w.AttentionEntropy) < 0 {
		return fmt.Errorf("quantizer.loss: weights must not be negative")
	}
	if c.Resets.Until < 0 || c.Resets.Until > 1 {
		return fmt.Errorf("quantizer.resets.until: %g must be between 0 and 1", c.Resets.Until)
	}
	if c.Shared && c.Levels > 1 && (c.Learn == "ema" || c.Average.Pull > 0) {
		return fmt.Errorf("quantizer.shared: running averages need a codebook a level; use learn: gradient and no average.pull")
	}
	if c.Transform.RowNorm == "latent" && c.Levels > 1 {
		return fmt.Errorf("quantizer.transform.row_norm: residual levels need a gain each; use row_norm: gain")
	}
	if c.Distance == Cosine {
		switch {
		case m.level != nil || m.classical != nil:
			return fmt.Errorf("quantizer.distance: %s stores no codes that could be compared by cosine; use euclidean", c.Method)
		case c.Levels > 1:
			return fmt.Errorf("quantizer.distance: what the first level of %s leaves over is not on the sphere; use cosine with one level", c.Method)
		case c.Transform.RowNorm == transform.RowNormGain:
			return fmt.Errorf("quantizer.transform.row_norm: cosine has unit codes without a gain; use none or latent with %s", c.Method)
		}
	}
	if c.Method != "grit" && !c.untransformed() {
		return fmt.Errorf("quantizer.transform.kind: %s has no transform; use method grit", c.Method)
	}
	if err := c.Radius.Validate(); err != nil {
		return fmt.Errorf("quantizer.%w", err)
	}
	for part := range c.Parts {
		start, end := Layout{Dim: dim, Parts: c.Parts}.Bounds(part)
		if err := c.Transform.Validate(c.Codes, end-start); err != nil {
			return fmt.Errorf("quantizer.transform.%w", err)
		}
	}
	if m.check != nil {
		return m.check(c, dim)
	}
	return nil
}

// untransformed is the transform that leaves codes as they are.
func untransformed() transform.Config {
	t := transform.Default()
	t.Kind, t.FeatureMap, t.RowNorm = transform.KindIdentity, false, transform.RowNormNone
	return t
}

// untransformed says whether codes are used as they are stored.
func (c Config) untransformed() bool {
	return c.Transform.Kind == transform.KindIdentity && !c.Transform.FeatureMap && c.Transform.RowNorm == transform.RowNormNone
}
