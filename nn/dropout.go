package nn

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Random is the randomness of a training step. A nil Random, for inference, drops
// nothing.
type Random struct {
	state  *graph.Node
	pools  bool        // draw from a pool
	pool   *graph.Node // numbers drawn ahead, [n]
	unused int         // last numbers of the pool
}

// NewRandom starts from an engine's random state (see graph.RNGStateFromSeed): the same
// state drops the same values.
func NewRandom(state *graph.Node) *Random {
	return &Random{state: state, pools: !onEmbeddedEngine(state)}
}

// poolSize is the number of values drawn at a time on engines that compile: every
// draw is hundreds of operations in separate kernels, slow to compile.
const poolSize = 1 << 20

// Uniform draws float32 numbers from 0 to below 1.
func (r *Random) Uniform(dims ...int) *graph.Node { return r.uniform(dims) }

func (r *Random) uniform(dims []int) *graph.Node {
	shape := shapes.Make(dtypes.Float32, dims...)
	var draw *graph.Node
	if !r.pools {
		r.state, draw = graph.RandomUniform(r.state, shape)
		return draw
	}
	n := shape.Size()
	if n > r.unused {
		r.unused = max(n, poolSize)
		r.state, r.pool = graph.RandomUniform(r.state, shapes.Make(dtypes.Float32, r.unused))
	}
	first := r.pool.Shape().Size() - r.unused
	r.unused -= n
	return graph.Reshape(graph.Slice(r.pool, graph.AxisRange(first, first+n)), dims...)
}

// Dropout sets values of x to zero with probability rate and divides the others by
// 1 - rate, which keeps the mean (Srivastava et al., 2014). Along the shared axes one
// draw decides for all values.
func (r *Random) Dropout(x *graph.Node, rate float64, shared ...int) *graph.Node {
	if rate < 0 || rate >= 1 {
		panic(fmt.Errorf("nn: dropout of %g must be at least 0 and below 1", rate))
	}
	if r == nil || rate == 0 {
		return x
	}
	dims := slices.Clone(x.Shape().Dimensions)
	for _, axis := range shared {
		dims[axis] = 1
	}
	kept := graph.GreaterOrEqual(r.uniform(dims), graph.Scalar(x.Graph(), dtypes.Float32, rate))
	factor := graph.MulScalar(graph.ConvertDType(kept, x.DType()), 1/(1-rate))
	if x.Rank() == 3 && dims[1] == 1 && onEmbeddedEngine(x) {
		rows := repeatRows(graph.Reshape(factor, dims[0], dims[2]), x.Shape().Dim(1))
		factor = graph.Reshape(rows, x.Shape().Dimensions...)
	}
	return graph.Mul(x, factor)
}
