// Package radius holds the scalar radius r(ẑ, z) of GRIT-VQ and the surrogate
// that carries gradients across the hard assignment with it.
//
// The surrogate keeps the hard code in the forward pass and moves the latent
// along the quantization direction in the backward pass. Writing D = ẑ - z,
// δ = |D|, s = D/δ, its Jacobians are a rank-one change of straight-through:
//
//	dz_q/dz = I - v wᵀ,   dz_q/dẑ = v wᵀ,   w = dr/dẑ,
//
// with v = D/r in mode [Ratio] and v = s in the unit modes. For the radial
// families (r depends on δ alone) v wᵀ = k s sᵀ, where k is the elasticity
// δ r'/r or the slope r'. At δ = 0 the correction is dropped, which leaves
// plain straight-through.
package radius

import (
	"fmt"
	"slices"
	"strings"
)

// Mode chooses between the paper's two surrogates, which it treats as one.
type Mode string

const (
	// Ratio is z + r·sg[(ẑ-z)/r] (Eq. 2, Algorithm 1): the forward value is ẑ and
	// k is the elasticity of r.
	Ratio Mode = "ratio"
	// UnitHard has the gradient of z + r·sg[s] (the theory sections) and the forward value ẑ.
	UnitHard Mode = "unit-hard"
	// UnitSoft is z + r·sg[s] in value and in gradient.
	UnitSoft Mode = "unit-soft"
)

// Modes lists every surrogate mode.
var Modes = []Mode{Ratio, UnitHard, UnitSoft}

// Kind names a radius family of the paper's appendix A.
type Kind string

// The ten families.
const (
	Euclidean   Kind = "euclidean"
	Clipped     Kind = "clip"
	Power       Kind = "power"
	Huber       Kind = "huber"
	Mahalanobis Kind = "mahalanobis"
	SoftClip    Kind = "soft-clip"
	PseudoHuber Kind = "pseudo-huber"
	PNorm       Kind = "p-norm"
	Temperature Kind = "temperature"
	Adaptive    Kind = "adaptive-mahalanobis"
)

// Config describes a radius and the surrogate built on it.
type Config struct {
	Kind       Kind    `yaml:"kind" doc:"Radius family r(code, latent)."`
	Mode       Mode    `yaml:"mode" enum:"ratio|unit-hard|unit-soft"`
	Scalar     Setting `yaml:"scalar"`
	MaxK       float64 `yaml:"max_k" doc:"Upper bound of the gradient factor k (power in unit mode diverges as the gap closes)."`
	PaperScale bool    `yaml:"paper_scale" doc:"Pseudo-Huber with the paper's scale h^2 instead of h."`
	Metric     string  `yaml:"metric" enum:"diagonal|low-rank|full" doc:"Shape of the Mahalanobis metric."`
	Rank       int     `yaml:"rank" doc:"Rank of the low-rank Mahalanobis metric."`
	Learned    bool    `yaml:"learned" doc:"Learn the Mahalanobis metric."`
	Decay      float64 `yaml:"decay" doc:"Adaptive Mahalanobis: weight of the newest precision estimate, in (0, 1]."`
	PerCode    bool    `yaml:"per_code" doc:"Adaptive Mahalanobis: one precision for each code of each level instead of one for all."`
}

// Enums implements config.Enumerated.
func (Config) Enums() map[string][]string { return map[string][]string{"kind": Names()} }

// Docs implements config.Documented.
func (Config) Docs() map[string]string {
	return map[string]string{
		"mode": "Surrogate: ratio and unit-hard feed the hard code to the decoder, unit-soft the point the radius reaches.",
		"scalar": "The family's scalar: tau of clip and soft-clip, alpha of power, h of the Huber families, p of p-norm, T " +
			"of temperature.",
	}
}

// Setting is a family's parameter: fixed, scheduled over training, or learned.
type Setting struct {
	Value float64 `yaml:"value" doc:"Value (at the start, if scheduled or learned)."`
	Use   Use     `yaml:"use" enum:"fixed|scheduled|learned"`
	End   float64 `yaml:"end" doc:"Value at the end of training, if scheduled."`
}

// Docs implements config.Documented.
func (Setting) Docs() map[string]string {
	return map[string]string{
		"use": "fixed, scheduled (geometrically from value to end over training) or learned (a pseudo-gradient in ratio " +
			"mode: give it a small learning rate).",
	}
}

// Use says how a scalar changes during training.
type Use string

// The uses of a scalar.
const (
	Fixed     Use = "fixed"
	Scheduled Use = "scheduled"
	Learned   Use = "learned"
)

// Default is the Euclidean radius in ratio mode: DiVeQ without its noise.
func Default() Config {
	return Config{
		Kind: Euclidean, Mode: Ratio, Scalar: Setting{Value: 1, Use: Fixed, End: 1},
		MaxK: 2, Metric: "diagonal", Rank: 8, Decay: 0.05,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	f := c.family()
	switch {
	case f.kind == "":
		return fmt.Errorf("radius.kind: unknown family %q, use one of %s", c.Kind, strings.Join(Names(), ", "))
	case !slices.Contains(Modes, c.Mode):
		return fmt.Errorf("radius.mode: unknown mode %q, use ratio, unit-hard or unit-soft", c.Mode)
	case !slices.Contains([]Use{Fixed, Learned, Scheduled}, c.Scalar.Use):
		return fmt.Errorf("radius.scalar.use: unknown use %q, use fixed, scheduled or learned", c.Scalar.Use)
	case !(c.MaxK > 0):
		return fmt.Errorf("radius.max_k: %g must be positive", c.MaxK)
	}
	if err := f.checkScalar(c.Scalar); err != nil || f.check == nil {
		return err
	}
	return f.check(c)
}
