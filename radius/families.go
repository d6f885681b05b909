package radius

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// family is one radius: either radial or with a measure. Functions may be nil.
type family struct {
	kind      Kind
	hasScalar bool
	least     float64              // smallest scalar; 0 means any positive number
	check     func(c Config) error // the family's own settings

	// squash maps the stored value of a learned scalar to the scalar; nil is softplus.
	squash   func(raw *Node) *Node
	unsquash func(scalar float64) float64

	radial *radial
	// measure returns r [N,1] and dr/dD [N,d] of D [N,d].
	measure func(c Config, in Inputs, difference, theta *Node) (r, gradient *Node)

	variables func(c Config, d, k, levels int) weights.Set // first values
	learned   func(c Config) bool                          // whether gradients reach the variables
	// updates returns new values of state after a batch by path.
	updates func(c Config, in Inputs, latent, code *Node) map[string]*Node
}

// families lists every family, in the order configuration files show them.
var families = []family{
	euclidean, clip, power, huber, mahalanobis, softClip, pseudoHuber, pNorm, temperature, adaptive,
}

// family is the zero family for an unknown kind.
func (c Config) family() family {
	for _, f := range families {
		if f.kind == c.Kind {
			return f
		}
	}
	return family{}
}

// Names lists the families.
func Names() []string {
	var names []string
	for _, f := range families {
		names = append(names, string(f.kind))
	}
	return names
}

func (f family) checkScalar(s Setting) error {
	least := max(f.least, math.SmallestNonzeroFloat32)
	switch {
	case !(s.Value >= least) || (s.Use == Scheduled && !(s.End >= least)):
		return fmt.Errorf("radius.scalar: %v to %v must be at least %g for %s", s.Value, s.End, least, f.kind)
	case s.Use == Learned && !f.hasScalar:
		return fmt.Errorf("radius.scalar.use: %s has no scalar to learn", f.kind)
	}
	return nil
}

// radial is a family r = ρ(δ; θ). Its functions see δ [N,1] > 0 (the caller masks
// δ = 0) and a scalar θ.
type radial struct {
	value      func(delta, theta *Node) *Node // ρ
	slope      func(delta, theta *Node) *Node // ρ' = k of the unit modes
	elasticity func(delta, theta *Node) *Node // δρ'/ρ = k of ratio mode
	paperScale bool                           // Config.PaperScale multiplies ρ by θ
}

// scaled multiplies ρ or ρ' by the paper's additional factor θ, if configured.
func (f *radial) scaled(c Config, value, theta *Node) *Node {
	if f.paperScale && c.PaperScale {
		return Mul(value, theta)
	}
	return value
}

// euclidean is family (1), r = δ: k = 1 in every mode.
var euclidean = family{kind: Euclidean, radial: &radial{
	value:      func(delta, _ *Node) *Node { return delta },
	slope:      func(delta, _ *Node) *Node { return OnesLike(delta) },
	elasticity: func(delta, _ *Node) *Node { return OnesLike(delta) },
}}

// clip is family (2), r = min(δ, τ): k is 1 below the cap and 0 above it, so
// latents far from their code see plain straight-through.
var clip = family{kind: Clipped, hasScalar: true, radial: &radial{value: Min, slope: below, elasticity: below}}

func below(delta, tau *Node) *Node {
	return Where(LessThan(delta, tau), OnesLike(delta), ZerosLike(delta))
}

// power is family (3), r = δ^α: k = α in ratio mode, αδ^(α-1) in the unit modes,
// where α < 1 diverges as the gap closes (hence the cap on k). A learned exponent
// is α = 0.5 + sigmoid(raw).
var power = family{
	kind: Power, hasScalar: true,
	check: func(c Config) error {
		if c.Scalar.Use == Learned && (c.Scalar.Value <= 0.5 || c.Scalar.Value >= 1.5) {
			return fmt.Errorf("radius.scalar.value: a learned power must start between 0.5 and 1.5, got %g", c.Scalar.Value)
		}
		return nil
	},
	squash: func(raw *Node) *Node { return AddScalar(Sigmoid(raw), 0.5) },
	unsquash: func(alpha float64) float64 {
		share := alpha - 0.5
		return math.Log(share / (1 - share))
	},
	radial: &radial{
		value:      Pow,
		slope:      func(delta, alpha *Node) *Node { return Mul(alpha, Pow(delta, AddScalar(alpha, -1))) },
		elasticity: func(delta, alpha *Node) *Node { return Mul(alpha, OnesLike(delta)) },
	},
}

// huber is family (4): δ²/2h inside h, δ - h/2 outside. In ratio mode k = 2
// inside, which reflects the gradient along s; in the unit modes k = min(δ/h, 1).
var huber = family{kind: Huber, hasScalar: true, radial: &radial{
	value: func(delta, h *Node) *Node {
		inside := Div(Square(delta), MulScalar(h, 2))
		outside := Sub(delta, MulScalar(h, 0.5))
		return Where(LessOrEqual(delta, h), inside, outside)
	},
	slope: func(delta, h *Node) *Node { return MinScalar(Div(delta, h), 1) },
	elasticity: func(delta, h *Node) *Node {
		outer := Max(delta, h) // the outside branch gives 2 at δ = h
		return Div(outer, Sub(outer, MulScalar(h, 0.5)))
	},
}}

// softClipBound keeps sinh from overflowing in float32; k is below 1e-33 there.
const softClipBound = 40.0

// softClip is family (6), r = τ tanh x with x = δ/τ: slope sech²x, elasticity
// 2x/sinh 2x. Both fall to 0 for far latents.
var softClip = family{kind: SoftClip, hasScalar: true, radial: &radial{
	value: func(delta, tau *Node) *Node { return Mul(tau, Tanh(Div(delta, tau))) },
	slope: func(delta, tau *Node) *Node { return OneMinus(Square(Tanh(Div(delta, tau)))) },
	elasticity: func(delta, tau *Node) *Node {
		x := MinScalar(MulScalar(Div(delta, tau), 2), 2*softClipBound)
		sinh := MulScalar(Sub(Exp(x), Exp(Neg(x))), 0.5)
		series := OneMinus(MulScalar(Square(x), 1.0/6)) // exact to x⁴ where the quotient cancels
		small := LessThan(x, Scalar(x.Graph(), x.DType(), 0.01))
		return Where(small, series, Div(x, sinh))
	},
}}

// pseudoHuber is family (7), r = h(√(1+u²) - 1) with u = δ/h: slope u/√(1+u²),
// elasticity 1 + 1/√(1+u²). Config.PaperScale multiplies value and slope by h.
var pseudoHuber = family{kind: PseudoHuber, hasScalar: true, radial: &radial{
	paperScale: true,
	value: func(delta, h *Node) *Node {
		u2 := Square(Div(delta, h))
		// √(1+u²)-1 = u²/(1+√(1+u²)) keeps its digits near zero.
		return Mul(h, Div(u2, OnePlus(Sqrt(OnePlus(u2)))))
	},
	slope: func(delta, h *Node) *Node {
		u := Div(delta, h)
		return Div(u, Sqrt(OnePlus(Square(u))))
	},
	elasticity: func(delta, h *Node) *Node {
		return OnePlus(Reciprocal(Sqrt(OnePlus(Square(Div(delta, h))))))
	},
}}

// temperature is family (9), r = T ln(1 + x) with x = δ/T, usually scheduled
// downwards: slope 1/(1+x), elasticity x/((1+x) ln(1+x)).
var temperature = family{kind: Temperature, hasScalar: true, radial: &radial{
	value: func(delta, t *Node) *Node { return Mul(t, Log1p(Div(delta, t))) },
	slope: func(delta, t *Node) *Node { return Reciprocal(OnePlus(Div(delta, t))) },
	elasticity: func(delta, t *Node) *Node {
		x := Div(delta, t)
		return Div(x, Mul(OnePlus(x), Log1p(x)))
	},
}}
