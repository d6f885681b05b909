package index

import (
	"errors"
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

// scaledDistance is |x - scale*c|² in float64.
func scaledDistance(x, scale, c []float32) float64 {
	sum := 0.0
	for j, v := range x {
		d := float64(v) - float64(scale[j])*float64(c[j])
		sum += float64(d * d)
	}
	return sum
}

// settle returns the nearest code of residual x: the proposals for row r of a group that
// rounding leaves open are compared in float64.
func (s *scaledCodes) settle(state *groupState, r int, x, scale []float32) uint32 {
	var first, second float64 // squared lengths of s*x and s²
	for j, v := range x {
		a, b := float64(scale[j])*float64(v), float64(scale[j])*float64(scale[j])
		first, second = first+a*a, second+b*b
	}
	// Every partial sum is at most |s*x||c| + |s²||c²/2|. Rounding of the query and of the
	// codes adds a few units to those of 2d sums: see roundingOf.
	factor, floor := roundingOf(2 * s.d)
	reach := math.Sqrt(first)*s.norm + math.Sqrt(second)*s.squares
	if !(reach < largestScore) {
		code, _ := s.best(x, scale, 0, 1, 0, math.Inf(1))
		return code
	}
	top := state.best[r][0]
	for _, b := range state.best[r] {
		top = min(top, b)
	}
	limit := float64(top) + 2*(factor*reach+floor)
	code, distance := uint32(0), math.Inf(1)
	for lane := range lanes {
		switch {
		case float64(state.best[r][lane]) > limit:
		case float64(state.second[r][lane]) > limit:
			code, distance = s.nearer(x, scale, int(state.code[r][lane]), code, distance)
		default:
			code, distance = s.best(x, scale, lane, lanes, code, distance)
		}
	}
	return code
}

// best compares every step-th packed code from first on with the best so far.
func (s *scaledCodes) best(x, scale []float32, first, step int, code uint32, distance float64) (uint32, float64) {
	for i := first; i < len(s.source); i += step {
		code, distance = s.nearer(x, scale, i, code, distance)
	}
	return code, distance
}

func (s *scaledCodes) nearer(x, scale []float32, i int, code uint32, distance float64) (uint32, float64) {
	other := s.source[i]
	if d := scaledDistance(x, scale, s.Row(int(other))); d < distance || d == distance && other < code {
		return other, d
	}
	return code, distance
}

// searchBeam replaces the greedy codes of row i by the best survivor of a beam, if that
// has a smaller error.
func (q *Scaled) searchBeam(e *encoding, scale []float32, i, width int) {
	d, levels := q.d, e.levels
	x, best := e.x[i*d:(i+1)*d], e.codes[i*levels:(i+1)*levels]
	residuals, paths := [][]float32{x}, [][]uint32{nil}
	group := make([]float32, 2*d*groupRows)
	same := slices.Repeat(scale, groupRows)
	for l := range levels {
		codes := &q.levels[l]
		stride := len(codes.none)
		scores, picks, filled := make([]float32, groupRows*stride), make([]candidate, min(width, len(paths)*len(codes.source))), 0
		for first := 0; first < len(residuals); first += groupRows {
			rows := residuals[first:min(first+groupRows, len(residuals))]
			q.query(group, slices.Concat(rows...), same)
			for p := range codes.panelCount() {
				panel, half := codes.panel(p)
				codes.kernel.scores(panel, half, group, scores[p*panelCodes:], stride)
			}
			for r, residual := range rows {
				filled = codes.kernel.merge(picks, filled, scores[r*stride:(r+1)*stride], squared(residual), int32(first+r))
			}
		}
		if filled == 0 { // no score is finite
			return
		}
		var next [][]float32
		var longer [][]uint32
		for _, pick := range picks[:filled] {
			code := codes.source[pick.code]
			longer = append(longer, append(slices.Clone(paths[pick.parent]), code))
			rest := make([]float32, d)
			subtractScaled(rest, residuals[pick.parent], scale, codes.Row(int(code)))
			next = append(next, rest)
		}
		residuals, paths = next, longer
	}
	least := q.squaredError(x, scale, best)
	for _, path := range paths {
		if s := q.squaredError(x, scale, path); s < least || s == least && slices.Compare(path, best) < 0 {
			least = s
			copy(best, path)
		}
	}
}

func squared(x []float32) (sum float32) {
	for _, v := range x {
		sum += float32(v * v)
	}
	return sum
}

func (q *Scaled) squaredError(x, scale []float32, codes []uint32) float64 {
	sum := make([]float32, q.d)
	if q.plain.decodeRow(codes, sum) != nil {
		return math.Inf(1)
	}
	return scaledDistance(x, scale, sum)
}

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
