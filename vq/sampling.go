package vq

import (
	"math"

	"github.com/gomlx/compute/dtypes"

	. "github.com/gomlx/gomlx/core/graph"
)

// withGumbel adds standard Gumbel noise to scores, so that their argmax is a
// draw from their softmax; nil adds nothing.
func (r *Random) withGumbel(scores *Node) *Node {
	if r == nil {
		return scores
	}
	return Add(scores, gumbelOf(r.Uniform(scores)))
}

// gumbelOf turns uniforms u in [0,1) into standard Gumbel variates -log(-log(1-u)).
// Large values come from small u, where floats are dense: in float32 the tail
// reaches log 2³³, enough for 65536 codes.
func gumbelOf(u *Node) *Node {
	u = StopGradient(MaxScalar(u, math.Ldexp(1, -33)))
	// -log(1-u) loses its leading digits where u is small; its series does not.
	series := Mul(u, AddScalar(Mul(u, AddScalar(Mul(u, AddScalar(MulScalar(u, 0.25), 1.0/3)), 0.5)), 1))
	exponential := Where(LessThan(u, Scalar(u.Graph(), u.DType(), 0.05)), series, Neg(quickLog(OneMinus(u))))
	return StopGradient(Neg(quickLog(exponential)))
}

// quickLog is the natural logarithm of positive normal x to a few 1e-6, without
// a gradient. The embedded engine has vector instructions for the exponential
// alone, so in float32 one Halley step on eʸ = x improves the logarithm that the
// bits of x amount to; other types take the engine's own.
func quickLog(x *Node) *Node {
	if x.DType() != dtypes.Float32 {
		return StopGradient(Log(x))
	}
	const centre = 0.0430 // halves the largest error of 1+m for 2ᵐ
	y := AddScalar(MulScalar(ConvertDType(Bitcast(x, dtypes.Int32), dtypes.Float32), math.Ln2/(1<<23)), (centre-127)*math.Ln2)
	e := Exp(y)
	return StopGradient(Add(y, MulScalar(Div(Sub(x, e), Add(x, e)), 2)))
}
