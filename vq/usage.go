package vq

import . "github.com/gomlx/gomlx/core/graph"

// underuse is the paper's usage regulariser Σ max(0, τ - p) over codes, with
// τ = threshold/K. Hard counts have no gradient, so the value is theirs and the
// gradient that of the mean soft assignment softmax(-dist²/T), with T relative
// to the batch's mean squared gap. It scores all codes at once: [N,K] memory.
func (b codebook) underuse(ctx *Context, residual, hard, index *Node) *Node {
	k := b.config.Codes
	counts, _ := ctx.countsAndSums(index, StopGradient(residual), k)
	rows := MaxScalar(ReduceAllSum(counts), 1)
	share := Div(counts, rows)

	gap := StopGradient(ctx.meanOver(ReduceSum(Square(Sub(hard, residual)), -1)))
	temperature := MulScalar(MaxScalar(gap, 1e-12), b.config.Loss.Softness)
	codes := b.scored(ctx)
	half := MulScalar(ReduceSum(Square(codes), -1), 0.5)
	score := Sub(ExpandAxes(half, 0), DotGeneral(residual, []int{1}, nil, codes, []int{1}, nil))
	each := Softmax(Div(MulScalar(score, -2), temperature), -1) // [N,K]
	if ctx.Mask != nil {
		each = Mul(each, ExpandAxes(ConvertDType(ctx.Mask, each.DType()), -1))
	}
	soft := Div(ReduceSum(each, 0), rows) // [K]

	p := Add(soft, StopGradient(Sub(share, soft)))
	threshold := b.config.Loss.Threshold / float64(k)
	return ReduceAllSum(MaxScalar(AddScalar(Neg(p), threshold), 0))
}

// scored is the codebook that losses over all codes see: the one whose gradient
// is used this step.
func (b codebook) scored(ctx *Context) *Node {
	if ctx.Training && b.accumulates() {
		return ctx.Vars.Get("state/cache")
	}
	return b.usable(ctx)
}
