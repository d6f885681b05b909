package vq

import (
	"errors"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Preparer is a [Quantizer] that maps latents to the space of its codes.
type Preparer interface {
	Prepare(z *Node) *Node
}

// NearestSearcher is a [Quantizer] that says whether a latent's codes are the nearest
// usable ones in Euclidean distance, level by level.
type NearestSearcher interface {
	Searchable() bool
}

// Freezer is a [Quantizer] that keeps parameter groups out of the optimizer.
type Freezer interface {
	Frozen(group weights.Group) bool
}

// Refresher is a [Quantizer] or a [Level] that caches values between steps. Refresh
// returns new values of the cached variables by path.
type Refresher interface {
	Refresh(ctx *Context) map[string]*Node
}

// Projector is a [Quantizer] or a [Level] with constraints on its parameters (the
// spectral bound on W). Project moves new values, keyed by path, into them, in place.
type Projector interface {
	Project(ctx *Context, values map[string]*Node)
}

// Rewirer is a [Quantizer] or a [Level] with state that the host derives from the
// codes, in place (the neighbours of top-k attention).
type Rewirer interface {
	Rewire(set weights.Set) error
}

// Placer is a [Quantizer] that can move codes of one slot onto latents [len(rows),d'].
type Placer interface {
	Place(set weights.Set, slot int, rows []int, targets []float32) ([]Touched, error)
}

// LevelPlacer is a [Level] that can move codes onto latents [len(rows),d].
type LevelPlacer interface {
	Place(set weights.Set, rows []int, targets []float32) ([]Touched, error)
}

// Touched is a variable row that was overwritten from outside the optimizer.
type Touched = transform.Touched

// touch lists one row of several variables.
func touch(row int, paths ...string) []Touched {
	var touched []Touched
	for _, path := range paths {
		touched = append(touched, Touched{Path: path, Row: row})
	}
	return touched
}

var errFixedCodes = errors.New("this method's codes cannot be moved; set quantizer.resets.every to 0")

// Prepare maps latents to the space of the codes, for search outside the graph.
func Prepare(q Quantizer, z *Node) *Node {
	if p, ok := q.(Preparer); ok {
		return p.Prepare(z)
	}
	return z
}

// Searchable says whether codes can be found outside the graph by nearest search.
func Searchable(q Quantizer) bool {
	s, ok := q.(NearestSearcher)
	return ok && s.Searchable()
}

// Frozen says whether a parameter group is kept out of the optimizer.
func Frozen(q Quantizer, group weights.Group) bool {
	f, ok := q.(Freezer)
	return ok && f.Frozen(group)
}

// Refresh returns new values of cached variables by path.
func Refresh(q Quantizer, ctx *Context) map[string]*Node {
	if r, ok := q.(Refresher); ok {
		return r.Refresh(ctx)
	}
	return nil
}

// Project moves new parameter values into their constraints, in place.
func Project(q Quantizer, ctx *Context, values map[string]*Node) {
	if p, ok := q.(Projector); ok {
		p.Project(ctx, values)
	}
}

// Rewire recomputes state that follows the codes, in place.
func Rewire(q Quantizer, set weights.Set) error {
	if r, ok := q.(Rewirer); ok {
		return r.Rewire(set)
	}
	return nil
}

// Place moves codes of one slot onto latents; it fails unless q is a [Placer].
func Place(q Quantizer, set weights.Set, slot int, rows []int, targets []float32) ([]Touched, error) {
	if p, ok := q.(Placer); ok {
		return p.Place(set, slot, rows, targets)
	}
	return nil, errFixedCodes
}

// Looker is a [Quantizer] whose vectors are more than sums of rows of its Codebooks.
type Looker interface {
	Lookup(ctx *Context, index *Node) *Node
}

// Lookup turns indices [N,L] back into vectors [N,d]: the sum of the codes of
// every part's levels, in level order, unless q is a [Looker]. Whole grids where cells are
// coded in phases.
func Lookup(q Quantizer, ctx *Context, index *Node) *Node {
	if l, ok := q.(Looker); ok {
		return l.Lookup(ctx, index)
	}
	books := q.Codebooks(ctx)
	return lookUp(q.Layout(), index, func(position int, at, _ *Node) *Node { return Take(books[position], at) })
}

// lookUp adds up the vectors [N,d'] that take returns for the codes [N] of every position
// and the sum of those before it (nil: none), and lays the parts side by side.
func lookUp(layout Layout, index *Node, take func(position int, at, sent *Node) *Node) *Node {
	parts := make([]*Node, layout.Parts)
	for position := range layout.Positions() {
		at := Reshape(Slice(index, AxisRange(), AxisRange(position, position+1)), -1)
		sent := &parts[position/layout.Levels]
		*sent = plus(*sent, take(position, at, *sent))
	}
	if layout.Parts == 1 {
		return parts[0]
	}
	return Concatenate(parts, -1)
}

// plus adds x to a sum; nil is none.
func plus(sum, x *Node) *Node {
	switch {
	case sum == nil:
		return x
	case x == nil:
		return sum
	}
	return Add(sum, x)
}
