package radius

import (
	"math"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Inputs of the surrogate besides latents and codes.
type Inputs struct {
	// Vars resolves "radius/…" (learned) and "state/…" (metric, precision).
	Vars weights.Vars
	// Progress is the fraction of training done, a scalar in [0,1]; nil means
	// the end of training. Scheduled scalars follow it.
	Progress *Node
	// Index [N] names each row's code; needed by per-code precision only.
	Index *Node
}

// Init returns the radius's variables for latents of dimension d and k codes.
func (c Config) Init(d, k int) weights.Set {
	set := weights.Set{}
	f := c.family()
	if c.Scalar.Use == Learned {
		raw := math.Log(math.Expm1(c.Scalar.Value)) // softplus⁻¹
		if f.unsquash != nil {
			raw = f.unsquash(c.Scalar.Value)
		}
		set["radius/scalar"] = weights.Full(float32(raw), 1)
	}
	if f.variables != nil {
		set.Merge("", f.variables(c, d, k))
	}
	return set
}

// theta is the family's scalar as a node of d's type.
func (c Config) theta(in Inputs, d *Node) *Node {
	g, dtype := d.Graph(), d.DType()
	switch c.Scalar.Use {
	case Learned:
		raw := Reshape(in.Vars.Get("radius/scalar"))
		if squash := c.family().squash; squash != nil {
			return squash(raw)
		}
		return Log1p(Exp(raw))
	case Scheduled:
		if in.Progress == nil {
			return Scalar(g, dtype, c.Scalar.End)
		}
		rate := math.Log(c.Scalar.End / c.Scalar.Value)
		return MulScalar(Exp(MulScalar(ConvertDType(in.Progress, dtype), rate)), c.Scalar.Value)
	}
	if math.IsInf(c.Scalar.Value, 1) {
		return nil // p = ∞ has its own form
	}
	return Scalar(g, dtype, c.Scalar.Value)
}

// Connect carries gradients across the hard assignment. latent and code are
// [N,d]; the result [N,d] equals code exactly in modes ratio and unit-hard, and
// latent + r·s in unit-soft. With g the gradient arriving at the result,
//
//	latent receives g - w⟨v, g⟩   and   code receives w⟨v, g⟩.
//
// The VJP is written by hand: it needs the difference and two reductions, and
// never divides by r.
func (c Config) Connect(in Inputs, latent, code *Node) *Node {
	difference, delta, apart := gaps(latent, code)
	theta := c.theta(in, difference)
	frozen := theta
	if frozen != nil {
		frozen = StopGradient(theta)
	}

	// pull(g) = w⟨v,g⟩ = along · coefficient · ⟨D, g⟩.
	along, coefficient := c.factors(in, difference, delta, frozen)
	coefficient = Where(apart, coefficient, ZerosLike(coefficient))
	var arriving, pull *Node
	join := func(g *Node) *Node {
		if g != arriving { // one pull for both inputs
			arriving = g
			projection := Mul(coefficient, ReduceAndKeep(Mul(difference, g), ReduceSum, -1))
			pull = Mul(along, projection)
		}
		return pull
	}

	var outgoing *Node
	z := IdentityWithCustomGradient(latent, func(_, _ *Node) *Node { return Sub(outgoing, join(outgoing)) })
	zHat := IdentityWithCustomGradient(code, func(_, _ *Node) *Node { return join(outgoing) })
	// Both inputs must be ancestors of the result for their VJPs to run; adding
	// 0·z leaves the forward value at the code.
	value := Add(zHat, MulScalar(z, 0))
	if c.Mode == UnitSoft {
		reached := c.reach(in, StopGradient(latent), difference, delta, apart, frozen)
		value = Add(reached, MulScalar(Add(zHat, z), 0))
	}
	result := IdentityWithCustomGradient(value, func(_, g *Node) *Node { outgoing = g; return g })
	if pseudo := c.parameterTerm(in, difference, delta, apart, theta); pseudo != nil {
		result = Add(result, pseudo)
	}
	return result
}

// gaps returns D [N,d], δ [N,1] and where δ > 0; elsewhere δ is 1.
func gaps(latent, code *Node) (difference, delta, apart *Node) {
	difference = StopGradient(Sub(code, latent))
	squared := ReduceAndKeep(Square(difference), ReduceSum, -1)
	apart = GreaterThan(squared, ZerosLike(squared))
	return difference, Sqrt(Where(apart, squared, OnesLike(squared))), apart
}

// factors returns along [N,d] and coefficient [N,1] with
// w⟨v,g⟩ = along · coefficient · ⟨D,g⟩, k capped at MaxK.
func (c Config) factors(in Inputs, difference, delta, theta *Node) (along, coefficient *Node) {
	f := c.family()
	if f.radial != nil {
		var k *Node
		if c.Mode == Ratio {
			k = f.radial.elasticity(delta, theta)
		} else {
			k = f.radial.scaled(c, f.radial.slope(delta, theta), theta)
		}
		return difference, Div(MinScalar(k, c.MaxK), Square(delta))
	}
	r, gradient := f.measure(c, in, difference, theta)
	r = Where(GreaterThan(r, ZerosLike(r)), r, OnesLike(r))
	// v = D/r or D/δ; |v||w| is the spectral norm of the correction.
	scale := delta
	if c.Mode == Ratio {
		scale = r
	}
	norm := Div(Mul(delta, Sqrt(ReduceAndKeep(Square(gradient), ReduceSum, -1))), scale)
	shrink := Div(MinScalar(norm, c.MaxK), MaxScalar(norm, math.SmallestNonzeroFloat32*1e8))
	return gradient, Div(shrink, scale)
}

// length is r [N,1] as a function of theta (and of a learned metric).
func (c Config) length(in Inputs, difference, delta, theta *Node) *Node {
	f := c.family()
	if f.radial != nil {
		return f.radial.scaled(c, f.radial.value(delta, theta), theta)
	}
	r, _ := f.measure(c, in, difference, theta)
	return r
}

// reach is latent + r·s, the forward value of unit-soft.
func (c Config) reach(in Inputs, latent, difference, delta, apart, theta *Node) *Node {
	r := StopGradient(c.length(in, difference, delta, theta))
	step := Where(apart, Div(r, delta), ZerosLike(r))
	return Add(latent, Mul(difference, step))
}

// parameterTerm is zero forward and gives learned scalars and metrics their
// gradient: sg[D]·(ln r - sg ln r) in ratio mode, sg[s]·(r - sg r) in the unit
// modes. It is nil when nothing is learned.
func (c Config) parameterTerm(in Inputs, difference, delta, apart, theta *Node) *Node {
	learned := c.family().learned
	if c.Scalar.Use != Learned && (learned == nil || !learned(c)) {
		return nil
	}
	r := c.length(in, difference, delta, theta)
	var change *Node
	if c.Mode == Ratio {
		r = Where(GreaterThan(r, ZerosLike(r)), r, OnesLike(r))
		change = Log(r)
	} else {
		change = Div(r, delta)
	}
	change = Sub(change, StopGradient(change))
	return Mul(difference, Where(apart, change, ZerosLike(change)))
}

// Updates returns new values of the radius's state after a batch, by variable
// path; empty for families without state. latent, code [N,d].
func (c Config) Updates(in Inputs, latent, code *Node) map[string]*Node {
	if updates := c.family().updates; updates != nil {
		return updates(c, in, latent, code)
	}
	return nil
}

// MeanK is the batch mean of the gradient factor, for monitoring: ⟨w,v⟩, which
// is k for radial families.
func (c Config) MeanK(in Inputs, latent, code *Node) *Node {
	difference, delta, apart := gaps(latent, code)
	theta := c.theta(in, difference)
	if theta != nil {
		theta = StopGradient(theta)
	}
	along, coefficient := c.factors(in, difference, delta, theta)
	k := Mul(ReduceAndKeep(Mul(along, difference), ReduceSum, -1), coefficient)
	return ReduceAllMean(Where(apart, k, ZerosLike(k)))
}
