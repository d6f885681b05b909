package transform

import (
	"fmt"
	"path"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Apply returns the usable codes C' [K,d] of the raw codes [K,d]. It is
// differentiable in every variable of [Config.Init], and in codes when Joint. It
// panics when a variable is missing or codes is not a matrix.
//
// Memory beside the result: O(K d) for identity, linear, lowrank, attention-lowrank, attention-rownorm;
// K ceil(K/Groups) for grouped; K k for attention-topk, and k tables [K,d] when
// training; K² for full; about 4 K² when training attention (4 GB at K = 16384).
func (c Config) Apply(v weights.Vars, codes *Node) *Node {
	return c.finish(v, c.mixer().graph(c, v, c.trainable(codes), nil))
}

// Rows returns the rows [N,d] of C' at index [N] (int32): the values and gradients
// of Gather(Apply(v, codes), index), at the cost of N rows if N is below K and the
// kind is not grouped.
func (c Config) Rows(v weights.Vars, codes, index *Node) *Node {
	if index.Rank() != 1 {
		panic(fmt.Errorf("code indices have shape %s: a transform selects rows by a vector [N]", index.Shape()))
	}
	at := InsertAxes(index, -1)
	if n := index.Shape().Dimensions[0]; n < 0 || n >= codes.Shape().Dimensions[0] {
		return Gather(c.Apply(v, codes), at)
	}
	return c.finish(v, c.mixer().graph(c, v, c.trainable(codes), at))
}

// gathered returns the rows of x at [N,1], all of them where at is nil.
func gathered(x, at *Node) *Node {
	if at == nil {
		return x
	}
	return Gather(x, at)
}

// Attends says whether codes are mixed by attention.
func (c Config) Attends() bool {
	_, ok := c.mixer().(attending)
	return ok
}

// Entropy returns the mean entropy of the mixing rows, a scalar in nats, or nil for
// kinds without attention. For attention-lowrank, whose rows are never formed, it
// is the entropy of a code's choice between itself and the prototypes.
func (c Config) Entropy(v weights.Vars, codes *Node) *Node {
	if m, ok := c.mixer().(attending); ok {
		return m.entropy(c, v, c.trainable(codes))
	}
	return nil
}

// trainable checks the raw codes and cuts their gradient when they are frozen.
func (c Config) trainable(codes *Node) *Node {
	if codes.Rank() != 2 {
		panic(fmt.Errorf("codes have shape %s: a transform needs a matrix of codes [K,d]", codes.Shape()))
	}
	if c.Joint {
		return codes
	}
	return StopGradient(codes)
}

// finish applies W and the row normalisation to mixed rows [N,d].
func (c Config) finish(v weights.Vars, x *Node) *Node {
	if c.hasFeature() {
		x = nn.Product(x, v.Get("feature/w"))
	}
	switch c.RowNorm {
	case RowNormLatent:
		return Mul(x, Reciprocal(rowLength(x)))
	case RowNormGain:
		return Mul(x, Div(InsertAxes(v.Get("feature/gain"), 0), rowLength(x)))
	}
	return x
}

// rowLength returns |x| [N,1] of rows [N,d]; 1 for zero rows, so that neither
// the value nor the gradient divides by zero.
func rowLength(x *Node) *Node {
	square := ReduceAndKeep(Square(x), ReduceSum, -1)
	zero := LessThan(square, Scalar(x.Graph(), x.DType(), zeroNorm*zeroNorm))
	return Sqrt(Where(zero, OnesLike(square), square))
}

// clipIterations are the power iterations of a training step, 4 d² multiplications each.
const clipIterations = 2

// ClippedFeature bounds the spectral norm of w [d,d] after an optimizer step: it
// returns w, rescaled to SpectralClip where its norm is larger, and the next
// power-iteration vector of u [d] ("state/feature_u"), which tracks W from step to
// step. No gradient flows. With SpectralClip 0 it returns w and u.
func (c Config) ClippedFeature(w, u *Node) (clipped, nextU *Node) {
	if c.SpectralClip <= 0 {
		return w, u
	}
	w, u = StopGradient(w), StopGradient(u)
	tiny := Scalar(w.Graph(), w.DType(), 1e-30)
	length := func(x *Node) *Node { return Max(Sqrt(ReduceAllSum(Square(x))), tiny) }
	start := Div(u, length(u))
	right := start
	var norm *Node
	for range clipIterations {
		left := Dot(w, right).Product()
		left = Div(left, length(left))
		right = Dot(left, w).Product()
		norm = length(right)
		right = Div(right, norm)
	}
	right = Where(GreaterThan(norm, tiny), right, start) // a zero w has no direction
	return Mul(w, MinScalar(Div(Scalar(w.Graph(), w.DType(), c.SpectralClip), norm), 1.0)), right
}

// strideCodes is the number of codes up to which a mixer's variables take whole
// steps; the default learning rates were found at this size.
const strideCodes = 256

// Stride is the share of the learning rate that a mixer variable should take.
// Optimizers that normalise gradients move every entry of B or M by about the
// rate, and a mixed code sums over K of them: the rate that suits 256 codes throws
// 65,536 off the latents in a few steps. So the step falls with the number of
// codes summed over, the last axis of shape. p ends in the variable's path.
func (c Config) Stride(p string, shape []int) float64 {
	name := path.Base(p)
	if c.Attends() || name != "b" && name != "m" {
		return 1 // attention weights sum to one for any number of codes
	}
	return min(1, strideCodes/float64(shape[len(shape)-1]))
}
