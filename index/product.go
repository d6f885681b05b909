package index

import (
	"errors"
	"fmt"
)

// Product encodes contiguous parts of a vector with a Residual each. It is
// immutable and safe for concurrent use.
type Product struct {
	parts []*Residual
	d     int
}

// NewProduct composes the encoders of consecutive parts of the vector. It fails
// without encoders or if one is nil.
func NewProduct(parts ...*Residual) (*Product, error) {
	if len(parts) == 0 {
		return nil, errors.New("a product encoder needs at least one part")
	}
	p := &Product{parts: append([]*Residual(nil), parts...)}
	for i, part := range parts {
		if part == nil {
			return nil, fmt.Errorf("part %d of the product encoder is missing", i)
		}
		p.d += part.d
	}
	return p, nil
}

// Width is the number of codes of a vector at the first levels of every part (all
// if levels <= 0). It panics if a part has fewer.
func (p *Product) Width(levels int) int {
	width := 0
	for _, part := range p.parts {
		width += part.usedLevels(levels)
	}
	return width
}

// Encode writes the codes of the rows of x [n,d] to out [n,Width(levels)], part by
// part, level by level; see Residual.Encode. It panics if a part has fewer levels
// or a slice is too short.
func (p *Product) Encode(x []float32, n, levels, beam int, out []uint32, workers int) {
	width := p.Width(levels)
	checkLengths("Product.Encode", len(x), n*p.d, len(out), n*width, n)
	forBlocks(n, encodeRows(beam), workers, func(from, to int) {
		column, place := 0, 0
		for _, part := range p.parts {
			used := part.usedLevels(levels)
			e := takeEncoding(to-from, part.d, used)
			for i := from; i < to; i++ {
				copy(e.x[(i-from)*part.d:(i-from+1)*part.d], x[i*p.d+column:])
			}
			part.encodeBlock(e, beam)
			for i := from; i < to; i++ {
				copy(out[i*width+place:], e.codes[(i-from)*used:(i-from+1)*used])
			}
			e.release()
			column, place = column+part.d, place+used
		}
	})
}

// Decode writes to out [n,d] the vectors of codes [n,Width(levels)], each part as by
// Residual.Decode. It fails if a code is not in its codebook, and panics if a part
// has fewer levels or a slice is too short.
func (p *Product) Decode(codes []uint32, n, levels int, out []float32) error {
	width := p.Width(levels)
	checkLengths("Product.Decode", len(codes), n*width, len(out), n*p.d, n)
	if len(p.parts) == 1 {
		return p.parts[0].Decode(codes, n, levels, out)
	}
	column, place := 0, 0
	for j, part := range p.parts {
		used := part.usedLevels(levels)
		own, vectors := make([]uint32, n*used), make([]float32, n*part.d)
		for i := range n {
			copy(own[i*used:(i+1)*used], codes[i*width+place:])
		}
		if err := part.Decode(own, n, levels, vectors); err != nil {
			return fmt.Errorf("part %d: %w", j, err)
		}
		for i := range n {
			copy(out[i*p.d+column:], vectors[i*part.d:(i+1)*part.d])
		}
		column, place = column+part.d, place+used
	}
	return nil
}
