package vq

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	. "github.com/gomlx/gomlx/core/graph"
)

// Random is a source of noise for one training step.
type Random struct {
	state *Node
	given *Node // returned by Normal instead of a draw, for tests
}

// NewRandom starts from the engine's random state.
func NewRandom(state *Node) *Random { return &Random{state: state} }

// Normal draws independent standard Gaussians of x's shape, by both halves of the
// Box-Muller transform. The sine comes from the cosine, which is expensive.
func (r *Random) Normal(x *Node) *Node {
	if r.given != nil {
		return r.given
	}
	size := x.Shape().Size()
	pairs := shapes.Make(x.DType(), (size+1)/2)
	var u, turn *Node
	r.state, u = RandomUniform(r.state, pairs)
	r.state, turn = RandomUniform(r.state, pairs)
	length := Sqrt(MaxScalar(MulScalar(quickLog(OneMinus(u)), -2), 0)) // 1-u is never 0
	cos := Cos(MulScalar(turn, 2*math.Pi))
	sin := Sqrt(MaxScalar(OneMinus(Square(cos)), 0))
	sin = Where(LessThan(turn, Scalar(x.Graph(), x.DType(), 0.5)), sin, Neg(sin))
	values := Concatenate([]*Node{Mul(length, cos), Mul(length, sin)}, 0)
	return Reshape(Slice(values, AxisRange(0, size)), x.Shape().Dimensions...)
}

// Uniform draws independent uniforms in [0,1) of x's shape.
func (r *Random) Uniform(x *Node) *Node {
	var values *Node
	r.state, values = RandomUniform(r.state, x.Shape())
	return values
}

// Dropped sets a share of the values of x to zero and scales the others up, so that sums keep their mean. A nil source
// drops nothing.
func (r *Random) Dropped(x *Node, share float64) *Node {
	if r == nil || share == 0 {
		return x
	}
	kept := GreaterOrEqual(r.Uniform(x), Scalar(x.Graph(), x.DType(), share))
	return Where(kept, MulScalar(x, 1/(1-share)), ZerosLike(x))
}

// withGumbel adds standard Gumbel noise to scores: their argmax is a draw from
// their softmax. A nil source adds nothing.
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

// quickLog is the natural logarithm of positive normal x to a few 1e-6, without a
// gradient. The embedded engine has vector instructions for the exponential alone,
// so in float32 one Halley step on eʸ = x improves the logarithm read off x's bits.
func quickLog(x *Node) *Node {
	if x.DType() != dtypes.Float32 {
		return StopGradient(Log(x))
	}
	const centre = 0.0430 // halves the largest error of 1+m for 2ᵐ
	y := AddScalar(MulScalar(ConvertDType(Bitcast(x, dtypes.Int32), dtypes.Float32), math.Ln2/(1<<23)), (centre-127)*math.Ln2)
	e := Exp(y)
	return StopGradient(Add(y, MulScalar(Div(Sub(x, e), Add(x, e)), 2)))
}
