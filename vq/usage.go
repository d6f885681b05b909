package vq

import . "github.com/gomlx/gomlx/core/graph"

// underuse is the paper's usage regulariser Σ max(0, τ - p) over codes, with
// τ = threshold/K. Hard counts have no gradient, so the value is theirs and the
// gradient that of the mean soft assignment softmax(-dist²/T), with T relative
// to the batch's mean squared gap.
func (b codebook) underuse(ctx *Context, residual, hard, index *Node) *Node {
	k := b.config.Codes
	counts, _ := ctx.countsAndSums(index, StopGradient(residual), k)
	used := MaxScalar(ReduceAllSum(counts), 1)
	share := Div(counts, used)

	gap := StopGradient(ctx.MeanOver(ReduceSum(Square(Sub(hard, residual)), -1)))
	temperature := MulScalar(MaxScalar(gap, 1e-12), b.config.Loss.UsageSoftness)
	nearness := func(latents *Node, codes []*Node, _ *Random) *Node {
		return Div(MulScalar(scores(latents, codes[0]), -2), temperature)
	}
	soft := newChoice(nearness, residual, []*Node{b.scored(ctx)}, nil).softmax(nil, ctx.shareOfRows(residual)).share

	p := Add(soft, StopGradient(Sub(share, soft)))
	threshold := b.config.Loss.UsageThreshold / float64(k)
	return ReduceAllSum(MaxScalar(AddScalar(Neg(p), threshold), 0))
}

// shareOfRows is the weight [N] of each row in a mean over the rows in use.
func (c *Context) shareOfRows(rows *Node) *Node {
	n := rows.Shape().Dimensions[0]
	if c.Mask == nil {
		return BroadcastToDims(Scalar(rows.Graph(), rows.DType(), 1/float64(n)), n)
	}
	mask := ConvertDType(c.Mask, rows.DType())
	return Div(mask, MaxScalar(ReduceAllSum(mask), 1))
}

// scored is the codebook that losses over all codes see: the one whose gradient
// is used this step.
func (b codebook) scored(ctx *Context) *Node {
	if ctx.Training && b.accumulates() {
		return ctx.Vars.Get(cachePath)
	}
	return b.Usable(ctx)
}
