package vq

import . "github.com/gomlx/gomlx/core/graph"

// softmaxPass builds the forward and backward passes of one [choice.softmax].
type softmaxPass struct {
	choice
	values *Node // [K,d'] or nil
	rows   *Node // [N,1] or nil
	result summary

	top    *Node // [N,1]: highest score
	logSum *Node // [N,1]: log Σ exp(score - top)
}

// forward runs over the blocks with running maxima, and again for the share, which
// needs the finished normaliser.
func (p *softmaxPass) forward() {
	var top, index, sum, moment, mean *Node
	for b := range p.blocks() {
		score := p.scores(b, sum).score
		previous := top
		top, index = p.higher(top, index, score, b)
		shifted := Sub(score, ExpandAxes(top, -1))
		weight := Exp(shifted)
		blockSum, blockMoment := ReduceSum(weight, -1), ReduceSum(Mul(weight, shifted), -1)
		var blockMean *Node
		if p.values != nil {
			blockMean = Dot(weight, p.rowsOf(p.values, b)).Product()
		}
		if b == 0 {
			sum, moment, mean = blockSum, blockMoment, blockMean
			continue
		}
		step := Sub(previous, top) // ≤ 0
		shrink := Exp(step)
		moment = Add(Mul(shrink, Add(moment, Mul(step, sum))), blockMoment)
		sum = Add(Mul(shrink, sum), blockSum)
		if p.values != nil {
			mean = Add(Mul(ExpandAxes(shrink, -1), mean), blockMean)
		}
	}
	p.result.index = index
	p.top, p.logSum = ExpandAxes(top, -1), ExpandAxes(Log(sum), -1)
	p.result.information = Sub(Div(moment, sum), Log(sum))
	if p.values != nil {
		p.result.mean = Div(mean, ExpandAxes(sum, -1))
	}
	if p.rows != nil {
		var parts []*Node
		after := p.logSum
		for b := range p.blocks() {
			score := p.scores(b, after).score
			after = Reshape(DotGeneral(p.rows, []int{0}, nil, Exp(p.logOf(score)), []int{0}, nil), -1)
			parts = append(parts, after)
		}
		p.result.share = Concatenate(parts, 0)
	}
}

// logOf is log p [N,B] of a block's scores.
func (p *softmaxPass) logOf(score *Node) *Node { return Sub(Sub(score, p.top), p.logSum) }

// adjoints are the gradients arriving at a summary; nil where none did.
type adjoints struct{ mean, information, share *Node }

// attach returns the summary with its backward pass: outputs capture adjoints; the
// inputs, which the reverse sweep reaches last, turn them into gradients.
func (p *softmaxPass) attach() summary {
	var arrived adjoints
	var gradients []*Node // of latents, then of every per-code parameter
	inputs := append([]*Node{p.latents}, p.codes...)
	anchor := ScalarZero(p.latents.Graph(), p.latents.DType())
	for i, input := range inputs {
		attached := IdentityWithCustomGradient(input, func(_, _ *Node) *Node {
			if gradients == nil {
				gradients = p.backward(arrived)
				arrived = adjoints{} // another sweep may reach other outputs
			}
			return gradients[i]
		})
		anchor = Add(anchor, MulScalar(Reshape(Slice(Reshape(attached, -1), AxisRange(0, 1))), 0))
	}
	output := func(value *Node, slot **Node) *Node {
		if value == nil {
			return nil
		}
		return IdentityWithCustomGradient(Add(StopGradient(value), anchor), func(_, g *Node) *Node {
			*slot = g
			gradients = nil
			return g
		})
	}
	return summary{
		index:       p.result.index,
		mean:        output(p.result.mean, &arrived.mean),
		information: output(p.result.information, &arrived.information),
		share:       output(p.result.share, &arrived.share),
	}
}

// backward returns the gradients of the latents and of every per-code parameter:
//
//	∂L/∂score = p·(∂L/∂p - Σ p·∂L/∂p),
//	∂L/∂p = ⟨ḡ_mean, value⟩ + ḡ_information·log p + rows·ḡ_share
func (p *softmaxPass) backward(arrived adjoints) []*Node {
	after := ZerosLike(p.top) // [N,1]: Σ p·∂L/∂p
	if arrived.mean != nil {
		after = Add(after, ReduceAndKeep(Mul(arrived.mean, p.result.mean), ReduceSum, -1))
	}
	if arrived.information != nil {
		arrived.information = ExpandAxes(arrived.information, -1)
		after = Add(after, Mul(arrived.information, ExpandAxes(p.result.information, -1)))
	}
	if arrived.share != nil {
		arrived.share = ExpandAxes(arrived.share, -1)
		wait := arrived.share
		for b := range p.blocks() {
			score := p.scores(b, wait).score
			expected := Dot(Exp(p.logOf(score)), p.rowsOf(arrived.share, b)).Product()
			after = Add(after, Mul(p.rows, expected))
			wait = after
		}
	}
	center := after

	var latents *Node
	parts := make([][]*Node, len(p.codes))
	for b := range p.blocks() {
		block := p.scores(b, after)
		wanted := StopGradient(p.scoreGradient(arrived, block.score, center, after, b))
		own := Gradient(ReduceAllSum(Mul(block.score, wanted)), append([]*Node{block.latents}, block.codes...)...)
		latents = plus(latents, own[0])
		for i := range parts {
			parts[i] = append(parts[i], own[1+i])
		}
		after = latents
	}
	gradients := []*Node{latents}
	for _, part := range parts {
		gradients = append(gradients, Concatenate(part, 0))
	}
	return gradients
}

// scoreGradient is ∂L/∂score [N,B] of block b; like the scores it waits for after.
func (p *softmaxPass) scoreGradient(arrived adjoints, score, center, after *Node, b int) *Node {
	logP := p.logOf(score)
	wanted := Neg(center)
	if arrived.mean != nil {
		wanted = Add(wanted, DotGeneral(SchedulingBarrier(arrived.mean, after), []int{1}, nil, p.rowsOf(p.values, b), []int{1}, nil))
	}
	if arrived.information != nil {
		wanted = Add(wanted, Mul(arrived.information, logP))
	}
	if arrived.share != nil {
		wanted = Add(wanted, Mul(SchedulingBarrier(p.rows, after), Reshape(p.rowsOf(arrived.share, b), 1, -1)))
	}
	return Mul(Exp(logP), wanted)
}
