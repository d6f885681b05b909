package vq

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute/shapes"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Level is one code position of a stack: how its codes are stored, chosen,
// learned and turned back into vectors. The default one has a table of codes and
// nearest-code search; others choose by rounding, signs or logits. A level may
// also implement [Graded], [Refresher], [Projector], [Rewirer] and [LevelPlacer];
// it names its variables without a prefix.
type Level interface {
	// Start returns the position's variables for a sample of the residuals it
	// will see, and the usable codes [K,d] they amount to.
	Start(rest Latents, rng *rand.Rand) (vars weights.Set, usable *weights.Array, err error)
	// Assign codes residuals [N,d].
	Assign(ctx *Context, residual *Node) Assigned
	// Usable is the vector of every code [K,d], from live parameters.
	Usable(ctx *Context) *Node
	// Vocab is the number of codes.
	Vocab() int
}

// Graded is a [Level] that starts differently by its place in the stack.
type Graded interface {
	// At returns the level for l levels before it.
	At(l int) Level
}

// Assigned is a coded batch of one position.
type Assigned struct {
	Index *Node // [N] int32
	Hard  *Node // [N,d]; gradients reach the position's parameters through it
	// Soft [N,d], when set, is the position's own surrogate: it carries all
	// gradients, and the stack sums surrogates instead of connecting the sum.
	Soft    *Node
	Loss    *Node            // scalar, weighted
	Updates map[string]*Node // new values of state variables by path
	Stats   map[string]*Node // scalars by name
}

// Random is a source of noise for one training step.
type Random struct {
	state *Node
	given *Node // returned by Normal instead of a draw, for tests
}

// NewRandom starts from an engine's random state.
func NewRandom(state *Node) *Random { return &Random{state: state} }

// Normal draws independent standard Gaussians of x's shape. Both halves of the
// Box-Muller transform are used and the sine comes from the cosine: logarithms
// and cosines dominate the cost of noise.
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

// MeanOver is the mean of values [N] over the rows in use.
func (c *Context) MeanOver(values *Node) *Node {
	if c.Mask == nil {
		return ReduceAllMean(values)
	}
	mask := ConvertDType(c.Mask, values.DType())
	return Div(ReduceAllSum(Mul(values, mask)), MaxScalar(ReduceAllSum(mask), 1))
}

// MeanSquare is the mean over elements of x² for x [N,d], over the rows in use.
func (c *Context) MeanSquare(x *Node) *Node {
	if c.Mask == nil {
		return ReduceAllMean(Square(x))
	}
	return c.MeanOver(ReduceMean(Square(x), -1))
}
