package index

import (
	"fmt"
	"math"
	"slices"
)

// Scaled is residual encoding with codes that every row stretches by a scale of its
// own: a vector x is approximated by the sum over levels of scale*c, coordinate by
// coordinate. It is immutable and safe for concurrent use.
//
// The code found at a level is the lowest i that minimises |r - scale*c_i|² of the
// residual r in float64. A float32 kernel proposes, as in [Codes], with scores
// ⟨s², c²/2⟩ - ⟨s*r, c⟩: one product of [s*r, -s²] and [c, c²/2].
type Scaled struct {
	levels []scaledCodes
	plain  *Residual // for decoding
	d      int
}

// scaledCodes are the codes [c, c²/2] of a level, packed for search.
type scaledCodes struct {
	*Codes
	panels        []float32 // [panelCount, 2d, panelCodes]
	none          []float32 // [panelCount, panelCodes] 0; +Inf past the last code
	norm, squares float64   // the longest c and the longest c²/2
}

// NewScaled composes codebooks of equal dimension, first level first. It fails where
// [NewResidual] does.
func NewScaled(levels ...*Codes) (*Scaled, error) {
	plain, err := NewResidual(levels...)
	if err != nil {
		return nil, err
	}
	q := &Scaled{plain: plain, d: plain.d}
	for l, codes := range levels {
		packed := packScaled(codes)
		if !(packed.norm < largestScore && packed.squares < largestScore) {
			return nil, fmt.Errorf("level %d has codes of length %g, too long to be scaled", l, packed.norm)
		}
		q.levels = append(q.levels, packed)
	}
	return q, nil
}

func packScaled(c *Codes) scaledCodes {
	d := c.d
	s := scaledCodes{Codes: c, panels: make([]float32, c.panelCount()*2*d*panelCodes), none: slices.Clone(c.half)}
	for i, row := range c.source {
		panel := s.panels[i/panelCodes*2*d*panelCodes+i%panelCodes:]
		var norm, squares float64
		for j, v := range c.Row(int(row)) {
			half := v * v / 2
			panel[j*panelCodes], panel[(d+j)*panelCodes] = v, half
			norm, squares = norm+float64(v)*float64(v), squares+float64(half)*float64(half)
		}
		s.none[i] = 0
		s.norm, s.squares = max(s.norm, math.Sqrt(norm)), max(s.squares, math.Sqrt(squares))
	}
	return s
}

func (s *scaledCodes) panel(p int) (codes, half []float32) {
	size := 2 * s.d * panelCodes
	return s.panels[p*size : (p+1)*size], s.none[p*panelCodes : (p+1)*panelCodes]
}

// Encode writes to out [n,levels] the codes of the rows of x [n,d] with scales
// [n,d], all positive, at the first levels (all if levels <= 0). A beam above 1 keeps
// that many partial encodings from level to level and returns the best of the survivors
// and the greedy encoding. The codes of a row depend on neither the other rows nor
// workers (0: all cores); a row with a NaN or an infinity gets zeros.
func (q *Scaled) Encode(x, scale []float32, n, levels, beam int, out []uint32, workers int) {
	levels = q.plain.usedLevels(levels)
	checkLengths("Scaled.Encode", min(len(x), len(scale)), n*q.d, len(out), n*levels, n)
	forBlocks(n, encodeRows(beam), workers, func(from, to int) {
		e := takeEncoding(to-from, q.d, levels)
		defer e.release()
		copy(e.x, x[from*q.d:to*q.d])
		own := scale[from*q.d : to*q.d]
		q.encodeGreedy(e, own)
		if beam > 1 && levels > 1 {
			for i := range e.rows {
				q.searchBeam(e, own[i*q.d:(i+1)*q.d], i, beam)
			}
		}
		copy(out[from*levels:to*levels], e.codes)
	})
}

// Decode writes to out [n,d] the sums of the codes [n,levels], before the scale.
func (q *Scaled) Decode(codes []uint32, n, levels int, out []float32) error {
	return q.plain.Decode(codes, n, levels, out)
}

// query writes the negated queries [-s*r, s²] of up to groupRows rows, interleaved. The
// last row fills up the group.
func (q *Scaled) query(group, residual, scale []float32) {
	d := q.d
	for r := range groupRows {
		at := min(r*d, len(residual)-d)
		for j, v := range residual[at : at+d] {
			s := scale[at+j]
			group[j*groupRows+r], group[(d+j)*groupRows+r] = -s*v, s*s
		}
	}
}

func (q *Scaled) encodeGreedy(e *encoding, scale []float32) {
	d, levels := q.d, e.levels
	copy(e.residual, e.x)
	search := takeScratch(e.rows, 2*d)
	defer search.release()
	groups, size := len(search.states), 2*d*groupRows
	for l := range levels {
		codes := &q.levels[l]
		for g := range groups {
			from, to := g*groupRows*d, min((g+1)*groupRows, e.rows)*d
			q.query(search.groups[g*size:(g+1)*size], e.residual[from:to], scale[from:to])
			search.states[g] = emptyState
		}
		for p := range codes.panelCount() {
			panel, half := codes.panel(p)
			for g := range groups {
				codes.kernel.nearest(panel, half, search.groups[g*size:(g+1)*size], int32(p*panelCodes), &search.states[g])
			}
		}
		for i := range e.rows {
			residual, own := e.residual[i*d:(i+1)*d], scale[i*d:(i+1)*d]
			code := codes.settle(&search.states[i/groupRows], i%groupRows, residual, own)
			e.codes[i*levels+l] = code
			subtractScaled(residual, residual, own, codes.Row(int(code)))
		}
	}
}

// subtractScaled writes a - scale*b to out; out may be a.
func subtractScaled(out, a, scale, b []float32) {
	for j := range out {
		out[j] = a[j] - float32(scale[j]*b[j])
	}
}
