package transform

import (
	"fmt"

	"github.com/gritvq/gritvq/nn"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// Apply returns the usable codes C' [K,d] of the raw codes [K,d]. It is
// differentiable in every variable, and in codes when Joint. v resolves the
// variables of [Config.Init]. It panics when a variable is missing or codes is
// not a matrix.
//
// Memory beside the result: O(K d) for identity, linear, lowrank and
// attention-lowrank; the blocks, K ceil(K/Groups), for grouped; K k weights for
// attention-topk, whose k gathered tables [K,d] live one at a time in evaluation
// and may be kept for the gradient; K² for the weights of full, and about 4 K²
// during training for attention (scores, weights and their gradients): 4 MB each
// at K = 1024, 1 GB each at K = 16384.
func (c Config) Apply(v weights.Vars, codes *Node) *Node {
	codes = c.trainable(codes)
	return c.finish(v, c.mixer().graph(c, v, codes))
}

// Rows returns the rows of C' at index [N] (int32), [N,d]: the values and
// gradients of Gather(Apply(v, codes), index), at the cost of N rows where the
// kind allows and N is below K. full and attention compute N rows of M, grouped
// computes all codes.
func (c Config) Rows(v weights.Vars, codes, index *Node) *Node {
	if index.Rank() != 1 {
		panic(fmt.Errorf("code indices have shape %s: a transform selects rows by a vector [N]", index.Shape()))
	}
	at := InsertAxes(index, -1)
	if n := index.Shape().Dimensions[0]; n < 0 || n >= codes.Shape().Dimensions[0] {
		return Gather(c.Apply(v, codes), at)
	}
	codes = c.trainable(codes)
	return c.finish(v, c.mixer().graphRows(c, v, codes, at))
}

// Attends says whether codes are mixed by attention.
func (c Config) Attends() bool {
	_, ok := c.mixer().(attending)
	return ok
}

// Entropy returns the mean entropy of the mixing rows, a scalar in nats to be
// regularised, or nil for kinds without attention. For attention-lowrank, whose
// rows are never formed, it is the entropy of a code's choice between itself and
// the prototypes.
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
	if !c.Joint {
		return StopGradient(codes)
	}
	return codes
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
