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
// δ r'/r or the slope r'. At δ = 0 the correction is dropped and what remains
// is plain straight-through.
//
// Every family exists twice: as graph code and as plain float64, which is the
// reference the graph code is tested against.
package radius

import (
	"fmt"
	"math"
	"sort"
	"strings"
)

// Mode chooses between the paper's two surrogates, which it treats as one.
type Mode string

const (
	// Ratio is z + r·sg[(ẑ-z)/r] (Eq. 2, Algorithm 1): the forward value is ẑ
	// for every radius and k is the elasticity of r.
	Ratio Mode = "ratio"
	// UnitHard has the gradient of z + r·sg[s] (the theory sections) and the
	// forward value ẑ.
	UnitHard Mode = "unit-hard"
	// UnitSoft is z + r·sg[s] in value and in gradient: the decoder sees a
	// point on the way to the code.
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
	Kind   Kind    `yaml:"kind" enum:"euclidean|clip|power|huber|mahalanobis|soft-clip|pseudo-huber|p-norm|temperature|adaptive-mahalanobis" doc:"Radius family r(code, latent)."`
	Mode   Mode    `yaml:"mode" enum:"ratio|unit-hard|unit-soft" doc:"Surrogate: ratio and unit-hard feed the hard code to the decoder, unit-soft the point the radius reaches."`
	Scalar Setting `yaml:"scalar" doc:"The family's scalar: tau of clip and soft-clip, alpha of power, h of the Huber families, p of p-norm, T of temperature."`
	MaxK   float64 `yaml:"max_k" doc:"Upper bound of the gradient factor k (power in unit mode diverges as the gap closes)."`
	// PaperScale keeps the paper's pseudo-Huber scale h² instead of h.
	PaperScale bool    `yaml:"paper_scale" doc:"Pseudo-Huber with the paper's scale h^2 instead of h."`
	Metric     string  `yaml:"metric" enum:"diagonal|low-rank|full" doc:"Shape of the Mahalanobis metric."`
	Rank       int     `yaml:"rank" doc:"Rank of the low-rank Mahalanobis metric."`
	Learned    bool    `yaml:"learned" doc:"Learn the Mahalanobis metric."`
	Decay      float64 `yaml:"decay" doc:"Adaptive Mahalanobis: weight of the newest precision estimate, in (0, 1]."`
	PerCode    bool    `yaml:"per_code" doc:"Adaptive Mahalanobis: one precision a code instead of one for all."`
}

// Setting is a family's parameter: fixed, scheduled over training, or learned.
type Setting struct {
	Value float64 `yaml:"value" doc:"Value (at the start, if scheduled or learned)."`
	Use   Use     `yaml:"use" enum:"fixed|scheduled|learned" doc:"fixed, scheduled (geometrically from value to end over training) or learned (a pseudo-gradient in ratio mode: give it a small learning rate)."`
	End   float64 `yaml:"end" doc:"Value at the end of training, if scheduled."`
}

// Use says how a scalar changes during training.
type Use string

// The uses of a scalar.
const (
	Fixed     Use = "fixed"
	Scheduled Use = "scheduled"
	Learned   Use = "learned"
)

// Default is the Euclidean radius in ratio mode: DiVeQ's geometry without its
// noise, and the setting that needs no tuning.
func Default() Config {
	return Config{
		Kind: Euclidean, Mode: Ratio, Scalar: Setting{Value: 1, Use: Fixed, End: 1},
		MaxK: 2, Metric: "diagonal", Rank: 8, Decay: 0.05,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if _, ok := families[c.Kind]; !ok {
		return fmt.Errorf("radius.kind: unknown family %q, use one of %s", c.Kind, strings.Join(Names(), ", "))
	}
	switch c.Mode {
	case Ratio, UnitHard, UnitSoft:
	default:
		return fmt.Errorf("radius.mode: unknown mode %q, use ratio, unit-hard or unit-soft", c.Mode)
	}
	switch c.Scalar.Use {
	case Fixed, Learned, Scheduled:
	default:
		return fmt.Errorf("radius.scalar.use: unknown use %q, use fixed, scheduled or learned", c.Scalar.Use)
	}
	minimum := math.SmallestNonzeroFloat32
	if c.Kind == PNorm {
		minimum = 1
	}
	if !(c.Scalar.Value >= minimum) || (c.Scalar.Use == Scheduled && !(c.Scalar.End >= minimum)) {
		return fmt.Errorf("radius.scalar: %v to %v must be at least %g for %s", c.Scalar.Value, c.Scalar.End, minimum, c.Kind)
	}
	if c.Scalar.Use == Learned && c.Kind == Power && (c.Scalar.Value <= 0.5 || c.Scalar.Value >= 1.5) {
		return fmt.Errorf("radius.scalar.value: a learned power must start between 0.5 and 1.5, got %g", c.Scalar.Value)
	}
	if c.Scalar.Use == Learned && !families[c.Kind].hasScalar {
		return fmt.Errorf("radius.scalar.use: %s has no scalar to learn", c.Kind)
	}
	if c.Scalar.Use == Learned && c.Kind == PNorm {
		return fmt.Errorf("radius.scalar.use: the exponent of p-norm cannot be learned, schedule it instead")
	}
	if c.Scalar.Use != Fixed && c.Kind == PNorm && (math.IsInf(c.Scalar.Value, 1) || math.IsInf(c.Scalar.End, 1)) {
		return fmt.Errorf("radius.scalar: an infinite p can only be fixed")
	}
	if !(c.MaxK > 0) {
		return fmt.Errorf("radius.max_k: %g must be positive", c.MaxK)
	}
	if c.Kind == Mahalanobis {
		switch c.Metric {
		case "diagonal", "full":
		case "low-rank":
			if c.Rank < 1 {
				return fmt.Errorf("radius.rank: %d must be at least 1", c.Rank)
			}
		default:
			return fmt.Errorf("radius.metric: unknown metric %q, use diagonal, low-rank or full", c.Metric)
		}
	}
	if c.Kind == Adaptive && !(c.Decay > 0 && c.Decay <= 1) {
		return fmt.Errorf("radius.decay: %g must be in (0, 1]", c.Decay)
	}
	return nil
}

// Names lists the families in alphabetical order.
func Names() []string {
	names := make([]string, 0, len(families))
	for kind := range families {
		names = append(names, string(kind))
	}
	sort.Strings(names)
	return names
}

// At is the scalar's value after the given fraction of training, for fixed and
// scheduled scalars: geometric from Value to End.
func (s Setting) At(progress float64) float64 {
	if s.Use != Scheduled {
		return s.Value
	}
	return s.Value * math.Pow(s.End/s.Value, math.Min(1, math.Max(0, progress)))
}

// family is one radius: radial ones give slope and elasticity, the others a
// metric.
type family struct {
	hasScalar bool
	radial    *radial // nil for families that are not radial
}

var families = map[Kind]family{
	Euclidean:   {radial: &euclidean},
	Clipped:     {hasScalar: true, radial: &clip},
	Power:       {hasScalar: true, radial: &power},
	Huber:       {hasScalar: true, radial: &huber},
	SoftClip:    {hasScalar: true, radial: &softClip},
	PseudoHuber: {hasScalar: true, radial: &pseudoHuber},
	Temperature: {hasScalar: true, radial: &temperature},
	PNorm:       {hasScalar: true},
	Mahalanobis: {},
	Adaptive:    {},
}

// Radial says whether r depends on the distance alone.
func (c Config) Radial() bool { return families[c.Kind].radial != nil }
