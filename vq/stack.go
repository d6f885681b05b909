package vq

import (
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Level is one code position of a stack: how its codes are stored, chosen,
// learned and turned back into vectors. It may also implement [Graded],
// [Refresher], [Projector], [Rewirer] and [LevelPlacer]. It names its variables
// without a prefix.
type Level interface {
	// Start returns the variables for a sample of residuals, and the usable codes
	// [K,d] they amount to.
	Start(rest Latents, rng *rand.Rand) (vars weights.Set, usable *weights.Array, err error)
	// Assign codes residuals [N,d].
	Assign(ctx *Context, residual *Node) Assigned
	// Usable is the vector of every code [K,d], from live parameters.
	Usable(ctx *Context) *Node
	// Vocab is the number of codes.
	Vocab() int
}

// Graded is a [Level] that starts differently by its place in the stack.
type Graded interface {
	// At returns the level for l levels before it.
	At(l int) Level
}

// Assigned is a coded batch of one position.
type Assigned struct {
	Index *Node // [N] int32
	Hard  *Node // [N,d]; gradients reach the position's parameters through it
	// Soft [N,d], when set, is the position's own surrogate: it carries all
	// gradients, and the stack sums surrogates instead of connecting the sum.
	Soft    *Node
	Loss    *Node            // scalar, weighted
	Updates map[string]*Node // new values of state variables by path
	Stats   map[string]*Node // scalars by name
}

// stack is the common part of [Residual] and [Product].
type stack struct {
	config Config
	layout Layout
	levels []Level // by part, used at each of its code positions
}

// at returns a position's level and the path of its variables.
func (s *stack) at(position int) (Level, string) {
	return s.levels[position/s.layout.Levels], s.layout.Path(position)
}

// books yields the level of every codebook and the path of its variables.
func (s *stack) books() iter.Seq2[Level, string] {
	return func(yield func(Level, string) bool) {
		for _, positions := range s.layout.Books() {
			if !yield(s.at(positions[0])) {
				return
			}
		}
	}
}

func (s *stack) Layout() Layout { return s.layout }

func (s *stack) Codebooks(ctx *Context) []*Node {
	books := make([]*Node, s.layout.Positions())
	for _, positions := range s.layout.Books() {
		level, path := s.at(positions[0])
		codes := level.Usable(ctx.in(path))
		for _, position := range positions {
			books[position] = codes
		}
	}
	return books
}

func (s *stack) Searchable() bool { return !methods[s.config.Method].Chooses }

func (s *stack) Frozen(group weights.Group) bool {
	return group == weights.Codes && s.config.Learn != "gradient"
}

func (s *stack) Refresh(ctx *Context) map[string]*Node {
	values := map[string]*Node{}
	for level, path := range s.books() {
		if r, ok := level.(Refresher); ok {
			mergeUpdates(values, r.Refresh(ctx.in(path)))
		}
	}
	return values
}

func (s *stack) Project(ctx *Context, values map[string]*Node) {
	for level, path := range s.books() {
		if p, ok := level.(Projector); ok {
			p.Project(ctx.in(path), values)
		}
	}
}

func (s *stack) Rewire(set weights.Set) error {
	for level, path := range s.books() {
		r, ok := level.(Rewirer)
		if !ok {
			continue
		}
		vars := set.Sub(path)
		if err := r.Rewire(vars); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		set.Merge(path, vars)
	}
	return nil
}

func (s *stack) Place(set weights.Set, position int, rows []int, targets []float32, mode transform.PlaceMode) ([]Touched, error) {
	level, path := s.at(position)
	p, ok := level.(LevelPlacer)
	if !ok {
		return nil, errFixedCodes
	}
	touched, err := p.Place(set.Sub(path), rows, targets, mode)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range touched {
		touched[i].Path = path + "/" + touched[i].Path
	}
	return touched, nil
}

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

func (p *Product) slice(z *Node, part int) *Node {
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
		o := q.Build(ctx.in(partPath(i)), p.slice(z, i))
		hard, soft, index = append(hard, o.Hard), append(soft, o.Soft), append(index, o.Index)
		out.Residuals = append(out.Residuals, o.Residuals...)
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
