package vq

import (
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Product quantizes slices of the vector side by side, each with its own
// residual stack and surrogate. Code positions run part after part.
type Product struct {
	layout Layout
	parts  []*Residual
}

func newProduct(c Config, dim int) *Product {
	p := &Product{layout: Layout{Dim: dim, Parts: c.Parts, Levels: c.Levels}}
	for part := range c.Parts {
		start, end := p.layout.Bounds(part)
		q := newResidual(c, end-start)
		p.parts = append(p.parts, q)
		p.layout.Vocab = append(p.layout.Vocab, q.Layout().Vocab...)
	}
	return p
}

func (p *Product) slice(z *Node, part int) *Node {
	start, end := p.layout.Bounds(part)
	return Slice(z, AxisRange(), AxisRange(start, end))
}

// Init implements [Quantizer].
func (p *Product) Init(sample Sample, rng *rand.Rand) (weights.Set, error) {
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

// addStat adds a share of value to a named statistic.
func addStat(stats map[string]*Node, name string, value *Node, share float64) {
	value = MulScalar(value, share)
	if sum, ok := stats[name]; ok {
		value = Add(sum, value)
	}
	stats[name] = value
}

func partPath(i int) string { return fmt.Sprintf("part%d", i) }

// Prepare implements [Quantizer].
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
		o := q.Build(ctx.in("%s", partPath(i)), p.slice(z, i))
		hard, soft, index = append(hard, o.Hard), append(soft, o.Soft), append(index, o.Index)
		out.Residuals = append(out.Residuals, o.Residuals...)
		mergeUpdates(out.Updates, o.Updates)
		share := float64(q.dim) / float64(p.layout.Dim)
		loss := MulScalar(o.Loss, share) // means over elements stay means
		if i == 0 {
			out.Loss = loss
		} else {
			out.Loss = Add(out.Loss, loss)
		}
		for name, value := range o.Stats {
			addStat(out.Stats, name, value, share)
		}
	}
	out.Hard, out.Soft, out.Index = Concatenate(hard, -1), Concatenate(soft, -1), Concatenate(index, -1)
	return out
}

// Codebooks implements [Quantizer].
func (p *Product) Codebooks(ctx *Context) []*Node {
	var books []*Node
	for i, q := range p.parts {
		books = append(books, q.Codebooks(ctx.in("%s", partPath(i)))...)
	}
	return books
}

// Lookup implements [Quantizer].
func (p *Product) Lookup(ctx *Context, index *Node) *Node {
	parts := make([]*Node, len(p.parts))
	for i, q := range p.parts {
		levels := p.layout.Levels
		own := Slice(index, AxisRange(), AxisRange(i*levels, (i+1)*levels))
		parts[i] = q.Lookup(ctx.in("%s", partPath(i)), own)
	}
	return Concatenate(parts, -1)
}

// Layout implements [Quantizer].
func (p *Product) Layout() Layout { return p.layout }

// Searchable implements [Quantizer].
func (p *Product) Searchable() bool { return p.parts[0].Searchable() }

// Frozen implements [Quantizer].
func (p *Product) Frozen(group weights.Group) bool { return p.parts[0].Frozen(group) }

// Refresh implements [Quantizer].
func (p *Product) Refresh(ctx *Context) map[string]*Node {
	values := map[string]*Node{}
	for i, q := range p.parts {
		mergeUpdates(values, q.Refresh(ctx.in("%s", partPath(i))))
	}
	return values
}

// Project implements [Quantizer].
func (p *Product) Project(ctx *Context, values map[string]*Node) {
	for i, q := range p.parts {
		q.Project(ctx.in("%s", partPath(i)), values)
	}
}

// Rewire implements [Quantizer].
func (p *Product) Rewire(set weights.Set) error {
	for i, q := range p.parts {
		vars := set.Sub(partPath(i))
		if err := q.Rewire(vars); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		set.Merge(partPath(i), vars)
	}
	return nil
}

// Place implements [Quantizer].
func (p *Product) Place(set weights.Set, position int, rows []int, targets []float32, mode transform.PlaceMode) ([]Touched, error) {
	part := partPath(position / p.layout.Levels)
	q := p.parts[position/p.layout.Levels]
	touched, err := q.Place(set.Sub(part), position%p.layout.Levels, rows, targets, mode)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", part, err)
	}
	for i := range touched {
		touched[i].Path = part + "/" + touched[i].Path
	}
	return touched, nil
}
