package index

import (
	"fmt"
	"slices"
	"sync"
)

// Additive approximates a vector by the sum of one code a level, like [Residual],
// and searches with tables of the products between the codes of all levels:
//
//	|x - sum_l c_l|^2 = |x|^2 + 2 (sum_l u_l(c_l) + sum_{a<b} <c_a, c_b>),  u_l(c) = |c|^2/2 - <x, c>
//
// Only u takes time in proportion to the dimension. A beam costs an addition for
// each code, and a code can be exchanged without decoding. The tables take
// 4 L (L-1) K^2 bytes. It is immutable and safe for concurrent use.
type Additive struct {
	*Residual
	products [][][]float32 // [a][b] <c_a, c_b> [packed codes of a, stride of b], a != b
	place    [][]uint32    // [level][code] its packed position
}

// additiveLimit bounds the numbers in the tables, to 512 MiB.
const additiveLimit = 1 << 27

// TablesFit says whether the tables of levels of k codes each are small enough for [NewAdditive].
func TablesFit(k, levels int) bool {
	packed := (k + panelCodes - 1) / panelCodes * panelCodes
	return levels <= 1 || packed <= additiveLimit/packed/levels/(levels-1)
}

// NewAdditive composes codebooks of equal dimension. It fails if [NewResidual] does
// or the tables would be too large.
func NewAdditive(levels ...*Codes) (*Additive, error) {
	stack, err := NewResidual(levels...)
	if err != nil {
		return nil, err
	}
	largest := 0
	for _, codes := range levels {
		largest = max(largest, codes.k)
	}
	if !TablesFit(largest, len(levels)) {
		return nil, fmt.Errorf("products of %d levels of %d codes take too much memory: use fewer codes", len(levels), largest)
	}
	q := &Additive{Residual: stack, products: make([][][]float32, len(levels)), place: make([][]uint32, len(levels))}
	for a, codes := range levels {
		q.place[a] = codes.places()
		q.products[a] = make([][]float32, len(levels))
		for b, other := range levels {
			if a != b {
				q.products[a][b] = codes.productsWith(other)
			}
		}
	}
	return q, nil
}

// places returns the packed position of every code; equal codes share one.
func (c *Codes) places() []uint32 {
	place := make([]uint32, c.k)
	for code := range place {
		at, found := slices.BinarySearch(c.source, uint32(code))
		if !found {
			at = slices.IndexFunc(c.source, func(i uint32) bool { return slices.Equal(c.Row(int(i)), c.Row(code)) })
		}
		place[code] = uint32(at)
	}
	return place
}

// productsWith returns <c, o> for the packed codes of c and o, [distinct codes of c, stride of o].
func (c *Codes) productsWith(o *Codes) []float32 {
	n, d, stride := len(c.source), c.d, len(o.half)
	groups := (n + groupRows - 1) / groupRows
	out := make([]float32, groups*groupRows*stride)
	zero := make([]float32, panelCodes)
	each(groups, 0, func(g int) {
		group := make([]float32, d*groupRows)
		var offsets [groupRows]float32 // <c, mean of o>: o is packed without its mean
		for r := range groupRows {
			row := c.Row(int(c.source[min(g*groupRows+r, n-1)]))
			for j, v := range row {
				group[j*groupRows+r] = v
				offsets[r] += float32(v * o.mean[j])
			}
		}
		scores := out[g*groupRows*stride : (g+1)*groupRows*stride]
		for p := range o.panelCount() {
			panel, _ := o.panel(p)
			o.kernel.scores(panel, zero, group, scores[p*panelCodes:], stride)
		}
		for i := range scores {
			scores[i] += offsets[i/stride]
		}
	})
	return out[:n*stride]
}

// additiveRows is the number of rows whose u are computed together.
const additiveRows = 64

// additiveMemory is the working memory for a block of rows.
type additiveMemory struct {
	unary   [][]float32 // [level][rows, stride] u_l, up to a constant for each row
	first   []float32   // [rows] energy of no codes: 0, or NaN in a row that is not finite
	scores  []float32   // [stride]
	picks   []candidate
	energy  []float32   // of the hypotheses
	paths   [2][]uint32 // [width,levels] packed codes of the hypotheses, and their continuations
	codes   []uint32    // [levels] packed codes to try
	decoded []float32   // [d]
	path    []uint32    // [levels] codes as given
}

var additivePool = sync.Pool{New: func() any { return new(additiveMemory) }}

// takeMemory returns the working memory for rows x [rows,d] and the first levels, with u filled in.
func (q *Additive) takeMemory(x []float32, rows, levels int) *additiveMemory {
	m := additivePool.Get().(*additiveMemory)
	for len(m.unary) < levels {
		m.unary = append(m.unary, nil)
	}
	s := takeScratch(rows, q.d)
	defer s.release()
	padded := (rows + groupRows - 1) / groupRows * groupRows
	widest := 0
	for l, codes := range q.levels[:levels] {
		stride := len(codes.half)
		widest = max(widest, stride)
		m.unary[l] = resized(m.unary[l], padded*stride)
		codes.packRows(s, x, rows)
		for first := 0; first < rows; first += groupRows {
			group := s.groups[first*q.d : (first+groupRows)*q.d]
			for p := range codes.panelCount() {
				panel, half := codes.panel(p)
				codes.kernel.scores(panel, half, group, m.unary[l][first*stride+p*panelCodes:], stride)
			}
		}
	}
	m.first = resized(m.first, rows)
	for i := range m.first {
		m.first[i] = 0
		for _, v := range x[i*q.d : (i+1)*q.d] {
			m.first[i] += 0 * v
		}
	}
	m.scores = resized(m.scores, widest)
	m.decoded = resized(m.decoded, q.d)
	m.path = resized(m.path, levels)
	m.codes = resized(m.codes, levels)
	return m
}

func (m *additiveMemory) release() { additivePool.Put(m) }

// scoresOf returns the scores of the codes of level l for row i, given the packed
// codes of other levels: u_l(c) + sum <c_a, c>.
func (q *Additive) scoresOf(m *additiveMemory, i, l int, given []uint32, skip int) []float32 {
	stride, kern := len(q.levels[l].half), &q.levels[l].kernel
	scores := m.scores[:stride]
	copy(scores, m.unary[l][i*stride:(i+1)*stride])
	for a, code := range given {
		if a != skip {
			kern.add(scores, q.products[a][l][int(code)*stride:(int(code)+1)*stride])
		}
	}
	return scores
}

// sourced writes the codes that packed ones stand for.
func (q *Additive) sourced(packed, out []uint32) {
	for l, code := range packed {
		out[l] = q.levels[l].source[code]
	}
}
