package index

import "errors"

// ScaledProduct lays [Scaled] encoders side by side over slices of the vector.
type ScaledProduct struct {
	parts []*Scaled
	d     int
}

// NewScaledProduct composes parts, each of which covers as many columns as its dimension.
func NewScaledProduct(parts ...*Scaled) (*ScaledProduct, error) {
	if len(parts) == 0 {
		return nil, errors.New("a product encoder needs at least one part")
	}
	p := &ScaledProduct{parts: parts}
	for _, part := range parts {
		p.d += part.d
	}
	return p, nil
}

// Encode writes to out [n,parts*levels] the codes of x [n,d], part after part; see
// [Scaled.Encode].
func (p *ScaledProduct) Encode(x, scale []float32, n, levels, beam int, out []uint32, workers int) {
	levels = p.parts[0].plain.usedLevels(levels)
	if len(p.parts) == 1 {
		p.parts[0].Encode(x, scale, n, levels, beam, out, workers)
		return
	}
	from := 0
	for i, part := range p.parts {
		to := from + part.d
		codes := make([]uint32, n*levels)
		part.Encode(columns(x, n, p.d, from, to), columns(scale, n, p.d, from, to), n, levels, beam, codes, workers)
		for row := range n {
			copy(out[(row*len(p.parts)+i)*levels:], codes[row*levels:(row+1)*levels])
		}
		from = to
	}
}

// columns returns columns [from,to) of x [n,d].
func columns(x []float32, n, d, from, to int) []float32 {
	out := make([]float32, 0, n*(to-from))
	for row := range n {
		out = append(out, x[row*d+from:row*d+to]...)
	}
	return out
}
