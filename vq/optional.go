package vq

import (
	"errors"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Preparer is a [Quantizer] that maps latents to the space of its codes before it
// looks for the nearest one.
type Preparer interface {
	Prepare(z *Node) *Node
}

// NearestSearcher is a [Quantizer] whose codes can be found outside the graph.
type NearestSearcher interface {
	// Searchable says whether a latent's codes are the nearest usable ones in
	// Euclidean distance, level by level.
	Searchable() bool
}

// Freezer is a [Quantizer] that keeps parameter groups out of the optimizer.
type Freezer interface {
	Frozen(group weights.Group) bool
}

// Refresher is a [Quantizer] or a [Level] that caches values between steps.
type Refresher interface {
	// Refresh returns new values of the cached variables by path.
	Refresh(ctx *Context) map[string]*Node
}

// Projector is a [Quantizer] or a [Level] with constraints on its parameters.
type Projector interface {
	// Project moves new parameter values, keyed by path, into their constraints
	// (the spectral bound on W), in place.
	Project(ctx *Context, values map[string]*Node)
}

// Rewirer is a [Quantizer] or a [Level] with state that the host derives from the
// codes (the neighbours of top-k attention).
type Rewirer interface {
	// Rewire recomputes that state, in place.
	Rewire(set weights.Set) error
}

// Placer is a [Quantizer] whose codes can be moved from outside.
type Placer interface {
	// Place moves codes of one position onto the given latents [len(rows),d'].
	Place(set weights.Set, position int, rows []int, targets []float32, mode transform.PlaceMode) ([]Touched, error)
}

// LevelPlacer is a [Level] whose codes can be moved from outside.
type LevelPlacer interface {
	Place(set weights.Set, rows []int, targets []float32, mode transform.PlaceMode) ([]Touched, error)
}

// Touched is a variable row that was overwritten from outside the optimizer: its
// moments must be reset.
type Touched struct {
	Path string
	Row  int
}

var errFixedCodes = errors.New("this method's codes cannot be moved; set quantizer.resets.every to 0")

// Prepare maps latents to the space of the codes, for search outside the graph:
// the identity unless q is a [Preparer].
func Prepare(q Quantizer, z *Node) *Node {
	if p, ok := q.(Preparer); ok {
		return p.Prepare(z)
	}
	return z
}

// Searchable says whether codes can be found outside the graph by nearest search;
// false unless q is a [NearestSearcher].
func Searchable(q Quantizer) bool {
	s, ok := q.(NearestSearcher)
	return ok && s.Searchable()
}

// Frozen says whether a parameter group is kept out of the optimizer; false unless
// q is a [Freezer].
func Frozen(q Quantizer, group weights.Group) bool {
	f, ok := q.(Freezer)
	return ok && f.Frozen(group)
}

// Refresh returns new values of cached variables by path; none unless q is a
// [Refresher].
func Refresh(q Quantizer, ctx *Context) map[string]*Node {
	if r, ok := q.(Refresher); ok {
		return r.Refresh(ctx)
	}
	return nil
}

// Project moves new parameter values into their constraints, in place, if q is a
// [Projector].
func Project(q Quantizer, ctx *Context, values map[string]*Node) {
	if p, ok := q.(Projector); ok {
		p.Project(ctx, values)
	}
}

// Rewire recomputes state that follows the codes, in place, if q is a [Rewirer].
func Rewire(q Quantizer, set weights.Set) error {
	if r, ok := q.(Rewirer); ok {
		return r.Rewire(set)
	}
	return nil
}

// Place moves codes of one position onto the given latents; it fails unless q is
// a [Placer].
func Place(q Quantizer, set weights.Set, position int, rows []int, targets []float32, mode transform.PlaceMode) ([]Touched, error) {
	if p, ok := q.(Placer); ok {
		return p.Place(set, position, rows, targets, mode)
	}
	return nil, errFixedCodes
}

// Lookup turns indices [N,L] back into vectors [N,d]: the sum of the codes of
// every part's levels, in level order.
func Lookup(q Quantizer, ctx *Context, index *Node) *Node {
	layout := q.Layout()
	parts := make([]*Node, layout.Parts)
	for position, codes := range q.Codebooks(ctx) {
		rows := Take(codes, Reshape(Slice(index, AxisRange(), AxisRange(position, position+1)), -1))
		part := &parts[position/layout.Levels]
		if *part == nil {
			*part = rows
		} else {
			*part = Add(*part, rows)
		}
	}
	if layout.Parts == 1 {
		return parts[0]
	}
	return Concatenate(parts, -1)
}
