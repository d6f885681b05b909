package vq

import (
	"fmt"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// PhaseSearch finds and looks up codes of one phase on the host. It is safe for
// concurrent use.
type PhaseSearch struct {
	Search
	scaled *index.ScaledProduct // nil where codes are used as they are
}

// Searches returns the search of every phase with the given variables and codebooks.
func (q *Phased) Searches(set weights.Set, books []*weights.Array) ([]PhaseSearch, error) {
	if len(books) != q.layout.Slots() {
		return nil, fmt.Errorf("%d codebooks for %d code positions in %d phases", len(books), q.layout.Positions(), q.layout.Phases)
	}
	if err := q.StartContext(weights.Rand(0, "shapes")).Check(q.contextOf(set)); err != nil {
		return nil, err
	}
	var searches []PhaseSearch
	for p, stack := range q.stacks {
		own := books[p*q.layout.Positions() : (p+1)*q.layout.Positions()]
		search, err := NewSearch(stack, set.Sub(phasePath(p)), own)
		if err != nil {
			return nil, fmt.Errorf("phase %d: %w", p, err)
		}
		s := PhaseSearch{Search: search}
		if p > 0 && q.Conditioned() {
			if s.scaled, err = newScaledSearch(stack.Layout(), own); err != nil {
				return nil, fmt.Errorf("phase %d: %w", p, err)
			}
		}
		searches = append(searches, s)
	}
	return searches, nil
}

// contextOf returns the network's variables of a set.
func (q *Phased) contextOf(set weights.Set) weights.Set {
	own := weights.Set{}
	for p := range q.stacks {
		own.Merge(contextPath(p), set.Sub(contextPath(p)))
	}
	return own
}

func newScaledSearch(layout Layout, books []*weights.Array) (*index.ScaledProduct, error) {
	packed, err := packBooks(layout, books)
	if err != nil {
		return nil, err
	}
	var parts []*index.Scaled
	for _, levels := range packed {
		part, err := index.NewScaled(levels...)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return index.NewScaledProduct(parts...)
}

// EncodeAround is Encode for codes shift + scale*c, with shifts and scales [n,d]; nil for
// codes as they are.
func (s PhaseSearch) EncodeAround(x, shift, scale []float32, n, levels, beam int, out []uint32, workers int) {
	if shift == nil {
		s.Encode(x, n, levels, beam, out, workers)
		return
	}
	rest := make([]float32, len(x))
	for i, v := range x {
		rest[i] = v - shift[i]
	}
	s.scaled.Encode(rest, scale, n, levels, beam, out, workers)
}

// DecodeAround is Decode for codes shift + scale*c.
func (s PhaseSearch) DecodeAround(codes []uint32, shift, scale []float32, n, levels int, out []float32) error {
	if err := s.Decode(codes, n, levels, out); err != nil || shift == nil {
		return err
	}
	for i, v := range out[:len(shift)] {
		out[i] = shift[i] + float32(scale[i]*v)
	}
	return nil
}
