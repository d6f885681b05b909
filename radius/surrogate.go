package radius

import (
	"math"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Inputs of the surrogate besides latents and codes.
type Inputs struct {
	Vars     weights.Vars // "radius/…" (learned) and "state/…" (metric, precision)
	Progress *Node        // fraction of training done, a scalar; nil means the end
	Index    *Node        // [N,L] each row's codes, for per-code precision
	Active   *Node        // [L] 1 for levels in use and 0 for others; nil means all
	Mask     *Node        // [N] 1 for rows in use and 0 for padding; nil means all
}

// Init returns the radius's variables for latents of dimension d and k codes a level.
func (c Config) Init(d, k, levels int) weights.Set {
	set := weights.Set{}
	f := c.family()
	if c.Scalar.Use == Learned {
		raw := c.Scalar.Value + math.Log(-math.Expm1(-c.Scalar.Value)) // softplus⁻¹, of large values too
		if f.unsquash != nil {
			raw = f.unsquash(c.Scalar.Value)
		}
		set["radius/scalar"] = weights.Full(float32(raw), 1)
	}
	if f.variables != nil {
		set.Merge("", f.variables(c, d, k, levels))
	}
	return set
}

// theta is the family's scalar in d's type, and the same without a gradient; nil for p = ∞.
func (c Config) theta(in Inputs, d *Node) (theta, frozen *Node) {
	if theta = c.scalar(in, d); theta != nil {
		frozen = StopGradient(theta)
	}
	return theta, frozen
}

func (c Config) scalar(in Inputs, d *Node) *Node {
	g, dtype := d.Graph(), d.DType()
	switch c.Scalar.Use {
	case Learned:
		raw := Reshape(in.Vars.Get("radius/scalar"))
		if squash := c.family().squash; squash != nil {
			return squash(raw)
		}
		return Softplus(raw)
	case Scheduled:
		if in.Progress == nil {
			return Scalar(g, dtype, c.Scalar.End)
		}
		rate := math.Log(c.Scalar.End / c.Scalar.Value)
		return MulScalar(Exp(MulScalar(ConvertDType(in.Progress, dtype), rate)), c.Scalar.Value)
	}
	if math.IsInf(c.Scalar.Value, 1) {
		return nil
	}
	return Scalar(g, dtype, c.Scalar.Value)
}

// Connect carries gradients across the hard assignment. latent and code are
// [N,d]; the result [N,d] equals code exactly in modes ratio and unit-hard, and
// latent + r·s in unit-soft. With g the gradient arriving at the result,
//
//	latent receives g - w⟨v, g⟩   and   code receives w⟨v, g⟩.
func (c Config) Connect(in Inputs, latent, code *Node) *Node {
	difference, delta, apart := gaps(latent, code)
	theta, frozen := c.theta(in, difference)
	along, coefficient := c.factors(in, difference, delta, frozen)
	coefficient = Where(apart, coefficient, ZerosLike(coefficient))
	var outgoing, arriving, pulled *Node
	pull := func() *Node { // w⟨v,g⟩, built once for both inputs
		if outgoing != arriving {
			arriving = outgoing
			projection := Mul(coefficient, ReduceAndKeep(Mul(difference, arriving), ReduceSum, -1))
			pulled = Mul(along, projection)
		}
		return pulled
	}
	z := IdentityWithCustomGradient(latent, func(_, _ *Node) *Node { return Sub(outgoing, pull()) })
	zHat := IdentityWithCustomGradient(code, func(_, _ *Node) *Node { return pull() })
	// 0·z makes both inputs ancestors of the result, so that their VJPs run.
	value := Add(zHat, MulScalar(z, 0))
	if c.Mode == UnitSoft {
		start := StopGradient(latent)
		r := StopGradient(c.length(in, difference, delta, frozen))
		reached := Add(start, Mul(difference, Where(apart, Div(r, delta), ZerosLike(r))))
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
	switch {
	case f.radial != nil && c.Mode == Ratio:
		k := f.radial.elasticity(delta, theta)
		return difference, Div(MinScalar(k, c.MaxK), Square(delta))
	case f.radial != nil:
		k := f.radial.scaled(c, f.radial.slope(delta, theta), theta)
		return difference, Div(MinScalar(k, c.MaxK), Square(delta))
	}
	r, gradient := f.measure(c, in, difference, theta)
	r = Where(GreaterThan(r, ZerosLike(r)), r, OnesLike(r))
	scale := delta // v = D/δ or D/r; |v||w| is the spectral norm of the correction
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

// parameterTerm is zero forward and gives learned scalars and metrics their
// gradient: sg[D]·(ln r - sg ln r) in ratio mode, sg[s]·(r - sg r) in the unit
// modes. It is nil when nothing is learned.
func (c Config) parameterTerm(in Inputs, difference, delta, apart, theta *Node) *Node {
	learned := c.family().learned
	if c.Scalar.Use != Learned && (learned == nil || !learned(c)) {
		return nil
	}
	change := c.length(in, difference, delta, theta)
	if c.Mode == Ratio {
		change = Log(Where(GreaterThan(change, ZerosLike(change)), change, OnesLike(change)))
	} else {
		change = Div(change, delta)
	}
	change = Sub(change, StopGradient(change))
	return Mul(difference, Where(apart, change, ZerosLike(change)))
}

// Updates returns new values of the radius's state by path, after a batch of
// latents and codes [N,d]; nil for families without state.
func (c Config) Updates(in Inputs, latent, code *Node) map[string]*Node {
	if updates := c.family().updates; updates != nil {
		return updates(c, in, latent, code)
	}
	return nil
}

// K is the gradient factor ⟨w,v⟩ [N] of each row, for monitoring; 0 where latent and
// code meet. It is k for radial families.
func (c Config) K(in Inputs, latent, code *Node) *Node {
	difference, delta, apart := gaps(latent, code)
	_, theta := c.theta(in, difference)
	along, coefficient := c.factors(in, difference, delta, theta)
	k := Mul(ReduceAndKeep(Mul(along, difference), ReduceSum, -1), coefficient)
	return Squeeze(Where(apart, k, ZerosLike(k)), -1)
}
