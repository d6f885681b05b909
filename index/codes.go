package index

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Codes is a frozen codebook [k,d], packed for search. It is immutable and safe
// for concurrent use.
type Codes struct {
	k, d int
	rows []float32 // [k,d], as given

	// The search sees distinct rows, moved by -mean: float32 scores round the
	// more the longer the vectors, and a common offset changes no ranking.
	source []uint32  // [distinct] row that a packed code stands for, ascending
	place  []int32   // [k] packed code of a row
	mean   []float32 // [d]
	panels []float32 // [panelCount, d, panelCodes]
	half   []float32 // [panelCount, panelCodes] |c|^2/2; +Inf past the last code

	norm       float64 // the longest packed code
	errorScale float64 // see scoreError
	errorFloor float64
	kernel     kernel
}

// NewCodes copies and packs a codebook [k,d]. It fails unless rows holds k*d > 0
// finite numbers. Of equal rows the lowest is found.
func NewCodes(rows []float32, k, d int) (*Codes, error) {
	return newCodesWith(bestKernel, rows, k, d)
}

func newCodesWith(kern kernel, rows []float32, k, d int) (*Codes, error) {
	if err := checkMatrix("codebook", rows, k, d); err != nil {
		return nil, err
	}
	if k > math.MaxInt32 {
		return nil, fmt.Errorf("a codebook of %d codes is too large: use at most %d", k, math.MaxInt32)
	}
	c := &Codes{k: k, d: d, rows: append([]float32(nil), rows...), kernel: kern}
	c.source, c.place = distinctRows(c.rows, k, d)
	c.mean = c.distinctMean()
	c.pack()
	return c, nil
}

// ErrNotFinite says that numbers are infinite or no numbers.
var ErrNotFinite = errors.New("remove or replace non-finite values")

// checkMatrix reports why x is no finite, non-empty [n,d].
func checkMatrix(what string, x []float32, n, d int) error {
	if n <= 0 || d <= 0 {
		return fmt.Errorf("%s has shape [%d,%d]: both sizes must be positive", what, n, d)
	}
	if len(x)%d != 0 || len(x)/d != n {
		return fmt.Errorf("%s has %d numbers, but shape [%d,%d] needs exactly rows times columns", what, len(x), n, d)
	}
	for i, v := range x {
		if v-v != 0 {
			return fmt.Errorf("%s row %d, column %d is %v: %w", what, i/d, i%d, v, ErrNotFinite)
		}
	}
	return nil
}

// distinctRows returns the first of every set of equal rows, and each row's place among
// them.
func distinctRows(rows []float32, k, d int) (first []uint32, place []int32) {
	first, place = make([]uint32, 0, k), make([]int32, k)
	seen := make(map[uint64][]int32, k) // places by hash
	for i := range k {
		row := rows[i*d : (i+1)*d]
		hash := hashOf(row)
		at := slices.IndexFunc(seen[hash], func(p int32) bool {
			j := int(first[p])
			return slices.Equal(row, rows[j*d:(j+1)*d])
		})
		if at < 0 {
			at = len(seen[hash])
			seen[hash], first = append(seen[hash], int32(len(first))), append(first, uint32(i))
		}
		place[i] = seen[hash][at]
	}
	return first, place
}

func (c *Codes) distinctMean() []float32 {
	sum := make([]float64, c.d)
	for _, i := range c.source {
		for j, v := range c.Row(int(i)) {
			sum[j] += float64(v)
		}
	}
	mean := make([]float32, c.d)
	for j, s := range sum {
		mean[j] = float32(s / float64(len(c.source)))
	}
	return mean
}

// pack lays the distinct rows out in panels and derives the rounding bound.
func (c *Codes) pack() {
	count := (len(c.source) + panelCodes - 1) / panelCodes
	c.panels = make([]float32, count*c.d*panelCodes)
	c.half = slices.Repeat(emptyPanel, count)
	for i, row := range c.source {
		panel := c.panels[i/panelCodes*c.d*panelCodes:]
		var squares float64
		for j, v := range c.Row(int(row)) {
			centred := v - c.mean[j]
			panel[j*panelCodes+i%panelCodes] = centred
			squares += float64(float64(centred) * float64(centred)) // the outer conversion forbids fusing
		}
		c.half[i] = float32(squares / 2)
		c.norm = max(c.norm, math.Sqrt(squares))
	}
	c.errorScale, c.errorFloor = roundingOf(c.d)
}

// Row returns code i, [d]. The caller must not modify it.
func (c *Codes) Row(i int) []float32 {
	return c.rows[i*c.d : (i+1)*c.d : (i+1)*c.d]
}

func (c *Codes) panelCount() int { return len(c.half) / panelCodes }

func (c *Codes) panel(p int) (codes, half []float32) {
	size := c.d * panelCodes
	return c.panels[p*size : (p+1)*size], c.half[p*panelCodes : (p+1)*panelCodes]
}
