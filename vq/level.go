package vq

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute/shapes"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// level is one code position of a stack: how its codes are stored, chosen,
// learned and turned back into vectors. [codebook] is the one with a table of
// codes and nearest-code search; others choose by rounding, signs or logits.
type level interface {
	// start returns the position's variables for a sample of the residuals it
	// will see, and the usable codes [K,d] they amount to.
	start(rest Sample, rng *rand.Rand) (vars weights.Set, usable *weights.Array, err error)
	// assign codes residuals [N,d].
	assign(ctx *Context, residual *Node) assigned
	// usable is what each code decodes to [K,d], from live parameters.
	usable(ctx *Context) *Node
	// vocab is the number of codes.
	vocab() int
	// refresh returns new values of what is cached between steps.
	refresh(ctx *Context) map[string]*Node
	// project keeps new parameter values inside their constraints, in place.
	project(ctx *Context, values map[string]*Node)
	// rewire recomputes derived state on the host, in place.
	rewire(vars weights.Set) error
	// place moves codes onto targets [len(rows),d].
	place(vars weights.Set, rows []int, targets []float32, mode transform.PlaceMode) ([]Touched, error)
}

// graded is a level that starts differently by its place in the stack.
type graded interface {
	// at returns the level for l levels before it.
	at(l int) level
}

// assigned is a coded batch of one position.
type assigned struct {
	index *Node // [N] int32
	hard  *Node // [N,d]; gradients reach the position's parameters through it
	// soft [N,d], when set, is the position's own surrogate: it carries all
	// gradients, and the stack sums surrogates instead of connecting the sum.
	soft    *Node
	loss    *Node // scalar, weighted
	updates map[string]*Node
	stats   map[string]*Node
}

// unchanging is the part of a level that nothing has to be done for.
type unchanging struct{}

func (unchanging) refresh(*Context) map[string]*Node  { return nil }
func (unchanging) project(*Context, map[string]*Node) {}
func (unchanging) rewire(weights.Set) error           { return nil }
func (unchanging) place(weights.Set, []int, []float32, transform.PlaceMode) ([]Touched, error) {
	return nil, errFixedCodes
}

// Random is a source of noise for one training step.
type Random struct {
	state *Node
	given *Node // what Normal returns instead of drawing, for tests
}

// NewRandom starts from an engine's random state.
func NewRandom(state *Node) *Random { return &Random{state: state} }

// Normal draws independent standard Gaussians of x's shape. Both halves of the
// Box-Muller transform are used and the sine comes from the cosine: logarithms
// and cosines are what noise costs.
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

// meanOver is the mean of values [N] over the rows in use.
func (c *Context) meanOver(values *Node) *Node {
	if c.Mask == nil {
		return ReduceAllMean(values)
	}
	mask := ConvertDType(c.Mask, values.DType())
	return Div(ReduceAllSum(Mul(values, mask)), MaxScalar(ReduceAllSum(mask), 1))
}

// meanSquare is the mean over elements of x² for x [N,d], over the rows in use.
func (c *Context) meanSquare(x *Node) *Node {
	if c.Mask == nil {
		return ReduceAllMean(Square(x))
	}
	return c.meanOver(ReduceMean(Square(x), -1))
}
