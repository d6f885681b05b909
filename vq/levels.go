package vq

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/gritvq/gritvq/nn"

	. "github.com/gomlx/gomlx/core/graph"
)

// condition makes the codes c [N,d] of a level depend on x̂ [N,d], the sum of the
// vectors that the levels before it have sent. The decoder knows x̂ too.
type condition interface {
	// vectors returns c'(x̂) [N,d], with gradients to codes, x̂ and the parameters.
	vectors(ctx *Context, codes, sent *Node) *Node
	// choose returns the code [N] of codes [K,d] whose vector is nearest to the residual.
	choose(ctx *Context, residual, codes, sent *Node) *Node
	// innovation is the residual [N,d] seen from the codes: the codes that would give
	// vectors equal to it. The codes in use are [N,d], their vectors hard [N,d].
	innovation(ctx *Context, residual, codes, hard, sent *Node) *Node
}

// Variables of a conditional level, relative to [Layout.Path].
const (
	conditionPath = "condition"
	shortlistPath = "condition/shortlist" // S [K,d]: proposes the candidates of implicit codes
)

// affineCodes are shifted and scaled by a network of one hidden layer,
//
//	c'(x̂) = mu + s·c,  [mu, t] = relu(x̂ Q + b) U,  s = (a+t)/(a-t) with a = 4+4|t|,
//
// with "q" [d,h], "bias" [h] and "u" [h,2d] below "condition". U = 0 at the start. The
// scale s lies between 3/5 and 5/3; at t = 0 it is 1 and its slope 1/2, as that of
// exp(tanh(t)/2), but it takes no function whose last bit depends on the machine.
type affineCodes struct{}

// terms returns mu and s [N,d].
func (affineCodes) terms(ctx *Context, sent *Node) (mu, scale *Node) {
	v := ctx.Vars.In(conditionPath)
	out := nn.Product(ctx.thinned(activated(nn.Product(sent, v.Get("q")), v.Get("bias"))), v.Get("u"))
	d := sent.Shape().Dimensions[1]
	mu, t := Slice(out, AxisRange(), AxisRange(0, d)), Slice(out, AxisRange(), AxisRange(d, 2*d))
	a := AddScalar(MulScalar(Abs(t), 4), 4)
	return mu, Div(Add(a, t), Sub(a, t))
}

// thinned drops hidden values [N,h] of a training step.
func (c *Context) thinned(x *Node) *Node { return c.Random.Dropped(x, c.drop) }

// activated is relu(x + bias).
func activated(x, bias *Node) *Node { return MaxScalar(Add(x, ExpandAxes(bias, 0)), 0) }

func (a affineCodes) vectors(ctx *Context, codes, sent *Node) *Node {
	mu, scale := a.terms(ctx, sent)
	return Add(mu, Mul(scale, codes))
}

// choose searches all codes.
func (a affineCodes) choose(ctx *Context, residual, codes, sent *Node) *Node {
	mu, scale := a.terms(ctx, sent)
	return nearestScaled(Sub(residual, mu), scale, codes)
}

func (a affineCodes) innovation(ctx *Context, residual, _, _, sent *Node) *Node {
	mu, scale := a.terms(ctx, sent)
	return Div(Sub(residual, mu), scale)
}

// implicitCodes are moved by a network of the code and x̂ (QINCo: Huijben et al.
// 2024): blocks
//
//	v ← v + relu(v P + x̂ Q + b) U
//
// one after the other, from v = c. Block i has "p" and "q" [d,h], "bias" [h] and
// "u" [h,d] below "condition/block<i>"; U = 0 at the start. With concat the network
// is QINCo's own: v = c + c A + x̂ B + a comes first, with "codes" and "sent" [d,d] and
// "bias" [d] below "condition/concat", and the blocks see v alone.
type implicitCodes struct {
	blocks     int
	concat     bool
	candidates int
}

func (m implicitCodes) vectors(ctx *Context, codes, sent *Node) *Node {
	v := codes
	if m.concat {
		vars := ctx.Vars.In(concatPath)
		v = Add(v, Add(Add(nn.Product(codes, vars.Get("codes")), nn.Product(sent, vars.Get("sent"))), ExpandAxes(vars.Get("bias"), 0)))
	}
	for i := range m.blocks {
		vars := ctx.Vars.In("%s", blockPath(i))
		inner := nn.Product(v, vars.Get("p"))
		if m.concat {
			inner = MaxScalar(inner, 0)
		} else {
			inner = activated(Add(inner, nn.Product(sent, vars.Get("q"))), vars.Get("bias"))
		}
		v = Add(v, nn.Product(ctx.thinned(inner), vars.Get("u")))
	}
	return v
}

const concatPath = conditionPath + "/concat"

func blockPath(i int) string { return fmt.Sprintf("%s/block%d", conditionPath, i) }

// choose takes the nearest vector of the codes that the shortlist proposes. With v the
// vector less its code, half the squared distance less |r|²/2 is
//
//	|c|²/2 - ⟨r, c⟩ + |v|²/2 - ⟨r-c, v⟩,
//
// where the last two terms are zero to the bit at the start.
func (m implicitCodes) choose(ctx *Context, residual, codes, sent *Node) *Node {
	residual, codes, sent = StopGradient(residual), StopGradient(codes), StopGradient(sent)
	n, d, k := residual.Shape().Dimensions[0], codes.Shape().Dimensions[1], codes.Shape().Dimensions[0]
	base := scores(residual, codes)
	count := min(m.candidates, k)
	proposed := m.propose(scores(residual, StopGradient(ctx.Vars.Get(shortlistPath))), count) // [N,count]
	flat := Reshape(proposed, n*count)
	repeated := func(x *Node) *Node { // [N,d] to [N*count,d]
		return Reshape(BroadcastToDims(ExpandAxes(x, 1), n, count, d), n*count, d)
	}
	chosen := Take(codes, flat)
	moved := Sub(m.vectors(ctx, chosen, repeated(sent)), chosen)
	gap := Sub(repeated(residual), chosen)
	extra := Sub(MulScalar(ReduceSum(Square(moved), -1), 0.5), ReduceSum(Mul(gap, moved), -1))
	total := Add(alongRows(base, proposed), Reshape(extra, n, count))
	best := ExpandAxes(ArgMin(StopGradient(total), -1, dtypes.Int32), -1)
	return Reshape(alongRows(proposed, best), n)
}

// alongRows gathers columns at [N,m] of x [N,K], each row by its own.
func alongRows(x, at *Node) *Node {
	row := Iota(x.Graph(), shapes.Make(at.DType(), append(at.Shape().Dimensions, 1)...), 0)
	return Gather(x, Concatenate([]*Node{row, ExpandAxes(at, -1)}, -1))
}

// propose returns the count codes [N,count] (int32) of the lowest scores [N,K], lowest
// first; ties go to the lowest code. Repeated minima are faster than sorting on the
// embedded engine.
func (implicitCodes) propose(scores *Node, count int) *Node {
	numbers := Iota(scores.Graph(), shapes.Make(dtypes.Int32, scores.Shape().Dimensions...), 1)
	taken := make([]*Node, count)
	for i := range taken {
		index := ExpandAxes(ArgMin(scores, -1, numbers.DType()), -1)
		taken[i] = index
		scores = Where(Equal(numbers, index), Infinity(scores.Graph(), scores.DType(), 1), scores)
	}
	return Concatenate(taken, -1)
}

func (implicitCodes) innovation(_ *Context, residual, codes, hard, _ *Node) *Node {
	return Sub(residual, Sub(hard, codes))
}
