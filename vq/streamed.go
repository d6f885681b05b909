package vq

import (
	"github.com/gomlx/compute/dtypes"

	. "github.com/gomlx/gomlx/core/graph"
)

// A [choice] scores blocks of B codes such that scores [N,B] have streamedElements
// elements; B is at least leastBlock, which bounds the size of the graph.
const (
	streamedElements = 1 << 20
	leastBlock       = 1024
)

// scoring maps latents [N,d] and a block of every per-code parameter [B,…] to
// scores [N,B]. It is called once a block and pass, must be differentiable, and
// draws the same noise every time (random is nil for a choice without noise).
type scoring func(latents *Node, codes []*Node, random *Random) *Node

// choice is a softmax over all codes without an [N,K] array: scores are built a
// block of codes at a time, and again in the backward pass, noise included.
type choice struct {
	score   scoring
	latents *Node   // [N,d]
	codes   []*Node // per-code parameters [K,…]
	states  []*Node // random state of each block; nil without noise
	block   int     // codes at once
	only    *scored // of a choice that fits one block: scores are kept, not rebuilt
}

// scored is a block's scores [N,B] and their inputs.
type scored struct {
	score   *Node
	latents *Node
	codes   []*Node
}

// newChoice returns the choice among codes with parameters [K,…] and noise from random (nil: none).
func newChoice(score scoring, latents *Node, codes []*Node, random *Random) choice {
	c := choice{score: score, latents: latents, codes: codes}
	return c.inBlocks(max(leastBlock, streamedElements/latents.Shape().Dimensions[0]), random)
}

func (c choice) inBlocks(block int, random *Random) choice {
	c.block, c.states, c.only = min(block, c.size()), nil, nil
	if c.blocks() == 1 {
		c.only = &scored{}
	}
	if random != nil {
		for range c.blocks() {
			c.states = append(c.states, random.split())
		}
	}
	return c
}

// split returns a state for noise that is drawn repeatedly.
func (r *Random) split() *Node {
	var own *Node
	r.state, own = RNGStateSplit(r.state)
	return own
}

func (c choice) size() int   { return c.codes[0].Shape().Dimensions[0] }
func (c choice) blocks() int { return (c.size() + c.block - 1) / c.block }

// rowsOf returns block b of x [K,…].
func (c choice) rowsOf(x *Node, b int) *Node {
	if c.blocks() == 1 {
		return x
	}
	return Slice(x, AxisRange(b*c.block, min((b+1)*c.block, c.size())))
}

// scores builds block b once after is done: the engine must neither run blocks
// side by side nor keep the forward pass's blocks for the backward pass.
func (c choice) scores(b int, after *Node) scored {
	if c.only != nil && c.only.score != nil {
		return *c.only
	}
	wait := func(x *Node) *Node {
		if after == nil {
			return x
		}
		return SchedulingBarrier(x, after)
	}
	block := scored{latents: wait(Identity(StopGradient(c.latents)))}
	for _, parameter := range c.codes {
		block.codes = append(block.codes, Identity(StopGradient(c.rowsOf(parameter, b))))
	}
	var random *Random
	if c.states != nil {
		random = NewRandom(wait(c.states[b]))
	}
	block.score = c.score(block.latents, block.codes, random)
	if c.only != nil {
		*c.only = block
	}
	return block
}

// best is the index [N] (int32) of the highest score; ties go to the lowest
// index. No gradient flows.
func (c choice) best() *Node {
	var top, index *Node
	for b := range c.blocks() {
		top, index = c.higher(top, index, c.scores(b, top).score, b)
	}
	return index
}

// higher merges the best of block b into the best so far.
func (c choice) higher(top, index, score *Node, b int) (newTop, newIndex *Node) {
	highest := ReduceMax(score, -1)
	at := AddScalar(ArgMax(score, -1, dtypes.Int32), float64(b*c.block))
	if top == nil {
		return highest, at
	}
	better := GreaterThan(highest, top) // strictly: the earlier block keeps ties
	return Max(highest, top), Where(better, at, index)
}

// summary holds the results of a softmax p [N,K] over all codes. Gradients of
// mean, information and share reach the latents and per-code parameters.
type summary struct {
	index       *Node // [N] int32: the code of the highest score
	mean        *Node // [N,d']: Σ p·values; values receive no gradient from it
	information *Node // [N]: Σ p·log p, the negative entropy
	share       *Node // [K]: Σ rows·p over the batch
}

// drawn assigns the best code of a sampled choice: one-hot forward, the gradient
// of the mean choice beside the code's own backward.
func (c choice) drawn(codes *Node) Assigned {
	p := c.softmax(codes, nil)
	hard := Take(codes, p.index)
	return Assigned{Index: p.index, Hard: hard, Soft: Add(hard, Sub(p.mean, StopGradient(p.mean)))}
}

// chosen assigns the best code.
func (c choice) chosen(codes *Node) Assigned {
	index := c.best()
	return Assigned{Index: index, Hard: Take(codes, index)}
}

// softmax summarises the choice: mean over values [K,d'] unless nil, share with
// the weights rows [N] unless nil.
func (c choice) softmax(values, rows *Node) summary {
	p := softmaxPass{choice: c}
	if values != nil {
		p.values = StopGradient(values)
	}
	if rows != nil {
		p.rows = ExpandAxes(StopGradient(ConvertDType(rows, c.latents.DType())), -1)
	}
	p.forward()
	return p.attach()
}
