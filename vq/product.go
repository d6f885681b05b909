package vq

import (
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Product quantizes slices of the vector side by side, each with its own
// residual stack and surrogate. Code positions run part after part.
type Product struct {
	stack
	parts []*Residual
}

func newProduct(c Config, dim int) *Product {
	p := &Product{stack: stack{config: c, layout: Layout{Dim: dim, Parts: c.Parts, Levels: c.Levels, Shared: c.Shared}}}
	for part := range c.Parts {
		start, end := p.layout.Bounds(part)
		q := newResidual(c, end-start)
		p.parts = append(p.parts, q)
		p.levels = append(p.levels, q.levels...)
		p.layout.Vocab = append(p.layout.Vocab, q.layout.Vocab...)
	}
	return p
}

// slice returns a part's columns of z; nil of nil.
func (p *Product) slice(z *Node, part int) *Node {
	if z == nil {
		return nil
	}
	start, end := p.layout.Bounds(part)
	return Slice(z, AxisRange(), AxisRange(start, end))
}

// Init implements [Quantizer].
func (p *Product) Init(sample Latents, rng *rand.Rand) (weights.Set, error) {
	if sample.Dim != p.layout.Dim {
		return nil, fmt.Errorf("the start sample has dimension %d, the quantizer %d", sample.Dim, p.layout.Dim)
	}
	set := weights.Set{}
	for i, part := range p.parts {
		vars, err := part.Init(sample.Slice(p.layout.Bounds(i)), rng)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		set.Merge(partPath(i), vars)
	}
	return set, nil
}

// Prepare implements [Preparer].
func (p *Product) Prepare(z *Node) *Node {
	parts := make([]*Node, len(p.parts))
	for i, q := range p.parts {
		parts[i] = q.Prepare(p.slice(z, i))
	}
	return Concatenate(parts, -1)
}

// Build implements [Quantizer].
func (p *Product) Build(ctx *Context, z *Node) Output {
	out := Output{Updates: map[string]*Node{}, Stats: map[string]*Node{}}
	var hard, soft, index []*Node
	for i, q := range p.parts {
		at := ctx.in(partPath(i))
		at.Given = ctx.given(i*p.layout.Levels, (i+1)*p.layout.Levels)
		at.Shift, at.Scale = p.slice(ctx.Shift, i), p.slice(ctx.Scale, i)
		o := q.Build(at, p.slice(z, i))
		hard, soft, index = append(hard, o.Hard), append(soft, o.Soft), append(index, o.Index)
		out.Residuals = append(out.Residuals, o.Residuals...)
		out.Surrogates = append(out.Surrogates, o.Surrogates...)
		mergeUpdates(out.Updates, o.Updates)
		share := float64(q.layout.Dim) / float64(p.layout.Dim)
		out.Loss = plus(out.Loss, MulScalar(o.Loss, share)) // means over elements stay means
		for name, value := range o.Stats {
			out.Stats[name] = plus(out.Stats[name], MulScalar(value, share))
		}
	}
	out.Hard, out.Soft, out.Index = Concatenate(hard, -1), Concatenate(soft, -1), Concatenate(index, -1)
	return out
}
