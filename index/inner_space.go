package index

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

type collection struct {
	metric Metric
	n, d   int
	stride int       // numbers from one row to the next, at least d
	rows   []float32 // [n,stride]; zeros past the d-th column
}

// Len is the number of rows.
func (c *collection) Len() int { return c.n }

// Dim is the length of a row.
func (c *collection) Dim() int { return c.d }

// Row returns row i, [d]. The caller must not modify it.
func (c *collection) Row(i int) []float32 {
	return c.rows[i*c.stride : i*c.stride+c.d : i*c.stride+c.d]
}

// measure is the cost of a row by definition.
func (c *collection) measure(query []float32, item uint32) found {
	return found{c.metric.cost(query, c.Row(int(item))), item}
}

// checkAdded reports why rows [n,d] cannot follow len rows.
func checkAdded(rows []float32, n, d, len int) error {
	if err := checkMatrix("added rows", rows, n, d); err != nil {
		return err
	}
	if n > math.MaxInt32-len {
		return fmt.Errorf("%d more rows after %d are too many: an index holds at most %d", n, len, math.MaxInt32)
	}
	return nil
}

func (c *collection) append(row []float32) {
	c.rows = append(c.rows, row...)
	c.rows = append(c.rows, make([]float32, c.stride-c.d)...)
	c.n++
}

func (c *collection) appendRows(rows []float32, n int) error {
	if err := checkAdded(rows, n, c.d, c.n); err != nil {
		return err
	}
	c.rows = slices.Grow(c.rows, n*c.stride)
	for i := range n {
		c.append(rows[i*c.d : (i+1)*c.d])
	}
	return nil
}

// space prepares rows and queries for the kernels. A score is |c|^2/2 - <x,c>
// with both moved by -mean, as for Codes, or -<x,c>.
type space struct {
	metric  Metric
	mean    []float32 // [d]; zeros for InnerProduct
	longest float64   // the longest packed row

	errorScale, errorFloor float64 // see roundingOf
	kernel                 kernel
}

func newSpace(kern kernel, metric Metric, rows []float32, n, d int) space {
	kern.scores = fusedScores(kern)
	s := space{metric: metric, mean: make([]float32, d), kernel: kern}
	s.errorScale, s.errorFloor = roundingOf(d)
	if metric == InnerProduct {
		return s
	}
	sum := make([]float64, d)
	for i := range n {
		for j, v := range rows[i*d : (i+1)*d] {
			sum[j] += float64(v)
		}
	}
	for j, v := range sum {
		s.mean[j] = float32(v / float64(n))
	}
	return s
}

type panels struct {
	rows  int
	codes []float32 // [panels, d, panelCodes]
	half  []float32 // [panels, panelCodes] |c|^2/2 or 0; +Inf past the last row
}

func (p *panels) grow(n, d int) {
	count := (p.rows+n+panelCodes-1)/panelCodes - len(p.half)/panelCodes
	p.codes = slices.Grow(p.codes, count*d*panelCodes)
	p.half = slices.Grow(p.half, count*panelCodes)
}

func (s *space) pack(p *panels, row []float32) {
	d := len(s.mean)
	if p.rows%panelCodes == 0 {
		p.codes = append(p.codes, make([]float32, d*panelCodes)...)
		p.half = append(p.half, emptyPanel...)
	}
	panel := p.codes[p.rows/panelCodes*d*panelCodes:]
	var squares float64
	for j, v := range row {
		moved := v - s.mean[j]
		panel[j*panelCodes+p.rows%panelCodes] = moved
		squares += float64(moved) * float64(moved)
	}
	p.half[p.rows] = 0
	if s.metric == Euclidean {
		p.half[p.rows] = float32(squares / 2)
	}
	s.longest = max(s.longest, math.Sqrt(squares))
	p.rows++
}

var emptyPanel = slices.Repeat([]float32{float32(math.Inf(1))}, panelCodes)

// prepare writes the moved and negated query x [d] to out [d]. It returns a
// bound on the error of its scores, and false if they cannot be trusted at all.
func (s *space) prepare(x, out []float32) (margin float64, ok bool) {
	var squares float64
	for j, v := range x {
		moved := s.mean[j] - v
		out[j] = moved
		squares += float64(moved) * float64(moved)
	}
	const lost = 1.2e-38 // largest loss of a coordinate below the normal range
	length := 1.001 * math.Sqrt(squares+float64(len(x))*lost)
	ok = length*s.longest < largestScore && s.longest*s.longest < largestScore
	size := length * s.longest
	if s.metric == Euclidean {
		size += s.longest * s.longest / 2
	}
	return s.errorScale*size + s.errorFloor, ok
}

// scan offers the rows of panel number at to the shortlists of a group. ids, unless
// nil, are the numbers of the rows of p.
func (s *space) scan(p *panels, at int, group []float32, lists []*shortlist, ids []uint32, scores *[groupRows * panelCodes]float32) {
	size := len(s.mean) * panelCodes
	s.kernel.scores(p.codes[at*size:(at+1)*size], p.half[at*panelCodes:(at+1)*panelCodes], group, scores[:], panelCodes)
	for r, list := range lists {
		row := (*[panelCodes]float32)(scores[r*panelCodes:])
		for low := s.kernel.below(row, 0, 2*list.limit); low != 0; low &= low - 1 {
			lane := bits.TrailingZeros32(low)
			if row[lane] >= list.limit { // the limit fell within this panel
				continue
			}
			item := uint32(at*panelCodes + lane)
			if ids != nil {
				item = ids[item]
			}
			list.offer(row[lane], item)
		}
	}
}
