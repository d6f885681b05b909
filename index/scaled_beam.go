package index

import (
	"math"
	"slices"
)

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
