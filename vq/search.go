package vq

import (
	"fmt"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// Search finds and looks up codes on the host. Codes [n,parts*levels] run part after
// part. It is safe for concurrent use.
type Search interface {
	// Encode writes the codes of latents x [n,d] at the first levels of every part (0:
	// all). A beam above 1 keeps that many partial encodings from level to level. The
	// codes of a row depend on neither the other rows nor workers (0: all cores).
	Encode(x []float32, n, levels, beam int, out []uint32, workers int)
	// Decode writes the vectors [n,d] of codes.
	Decode(codes []uint32, n, levels int, out []float32) error
}

// HostSearcher is a [Quantizer] whose codes are not found by nearest search in
// codebooks alone. Search is given the quantizer's variables and its Codebooks.
type HostSearcher interface {
	Search(set weights.Set, books []*weights.Array) (Search, error)
}

// NewSearch returns the search of q with the given variables and codebooks.
func NewSearch(q Quantizer, set weights.Set, books []*weights.Array) (Search, error) {
	layout := q.Layout()
	if len(books) != layout.Positions() {
		return nil, fmt.Errorf("%d codebooks for %d code positions", len(books), layout.Positions())
	}
	if s, ok := q.(HostSearcher); ok {
		return s.Search(set, books)
	}
	return newSearch(layout, books, nil)
}

// Search implements [HostSearcher].
func (s *stack) Search(set weights.Set, books []*weights.Array) (Search, error) {
	if s.config.Search == Local {
		return newLocalSearch(s.layout, books)
	}
	conditions := make([]index.Condition, len(books))
	for position := range books {
		level, path := s.at(position)
		if c, ok := level.(conditional); ok {
			conditions[position] = c.onHost(set.Sub(path))
		}
	}
	return newSearch(s.layout, books, conditions)
}

// newSearch searches for the nearest codes of every position, under its condition unless
// nil.
func newSearch(layout Layout, books []*weights.Array, conditions []index.Condition) (*index.Product, error) {
	if conditions == nil {
		conditions = make([]index.Condition, len(books))
	}
	packed, err := packBooks(layout, books)
	if err != nil {
		return nil, err
	}
	var parts []*index.Residual
	for i, levels := range packed {
		part, err := index.NewConditional(levels, conditions[i*layout.Levels:(i+1)*layout.Levels])
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return index.NewProduct(parts...)
}

// newLocalSearch searches for codes whose sum is nearest.
func newLocalSearch(layout Layout, books []*weights.Array) (*index.Product, error) {
	packed, err := packBooks(layout, books)
	if err != nil {
		return nil, err
	}
	parts := make([]*index.Residual, len(packed))
	for i, levels := range packed {
		if parts[i], err = index.NewLocal(levels...); err != nil {
			return nil, err
		}
	}
	return index.NewProduct(parts...)
}

// packBooks packs the codebooks of every position for search, by part and level.
func packBooks(layout Layout, books []*weights.Array) ([][]*index.Codes, error) {
	parts := make([][]*index.Codes, layout.Parts)
	for position, book := range books {
		codes, err := index.NewCodes(book.Data, book.Shape[0], book.Shape[1])
		if err != nil {
			return nil, fmt.Errorf("codebook %d: %w", position, err)
		}
		part := position / layout.Levels
		parts[part] = append(parts[part], codes)
	}
	return parts, nil
}
