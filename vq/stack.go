package vq

import (
	"fmt"
	"iter"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// stack is the common part of [Residual] and [Product].
type stack struct {
	config Config
	layout Layout
	levels []Level // by part, used at each of its code positions
}

// at returns a position's level and the path of its variables.
func (s *stack) at(position int) (Level, string) {
	level := s.levels[position/s.layout.Levels]
	if g, ok := level.(Graded); ok {
		level = g.At(position % s.layout.Levels)
	}
	return level, s.layout.Path(position)
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

// Lookup implements [Looker].
func (s *stack) Lookup(ctx *Context, index *Node) *Node {
	return lookUp(s.layout, index, func(position int, at, sent *Node) *Node {
		level, path := s.at(position)
		ctx := ctx.in(path)
		codes := Take(level.Usable(ctx), at)
		if c, ok := level.(conditional); ok {
			return c.condition.vectors(ctx, codes, sent)
		}
		return codes
	})
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

func (s *stack) Place(set weights.Set, position int, rows []int, targets []float32) ([]Touched, error) {
	level, path := s.at(position)
	p, ok := level.(LevelPlacer)
	if !ok {
		return nil, errFixedCodes
	}
	touched, err := p.Place(set.Sub(path), rows, targets)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range touched {
		touched[i].Path = path + "/" + touched[i].Path
	}
	return touched, nil
}
