package index

import (
	"errors"
	"fmt"
	"math"
)

// Lookup finds the nearest of many rows that are stored as codes of a [Product].
// A row ĉ is a sum of one vector a position, so |x - ĉ|²/2 - |x|²/2 is |ĉ|²/2, which
// is stored, minus an inner product a position, which is looked up: <x,c> is known
// for all codes before the first row. Float32 sums propose and costs of the decoded
// rows in float64 decide, as for [Codes]: every machine gives the answer of a search
// through all decoded rows.
type Lookup struct {
	product *Product
	levels  int // of every part
	n       int
	books   []lookupBook // of every position
	rows    lookupRows
	half    []float32 // [n] |ĉ|²/2

	longest float64 // the largest of half
	reach   float64 // sum of the longest codes of all positions
}

// lookupBook is the codebook of a position.
type lookupBook struct {
	codes *Codes
	from  int // its first coordinate
	start int // in the tables of a group of queries
}

// Additive says whether decoded rows are sums of one vector a position, whatever
// the other positions hold.
func (p *Product) Additive() bool {
	for _, part := range p.parts {
		if part.conditions != nil {
			return false
		}
	}
	return true
}

// NewLookup returns an index without rows over the first levels of every part (all
// if levels <= 0). It fails unless p is additive.
func NewLookup(p *Product, levels int) (*Lookup, error) {
	if !p.Additive() {
		return nil, errors.New("codes of conditional levels have no look-up tables; decode them and search the vectors")
	}
	l := &Lookup{product: p, levels: p.parts[0].usedLevels(levels)}
	from, start, most := 0, 0, 0
	for _, part := range p.parts {
		for _, codes := range part.levels[:part.usedLevels(levels)] {
			l.books = append(l.books, lookupBook{codes, from, start})
			start, most = start+codes.k*lookupQueries, max(most, codes.k)
			longest := 0.0
			for i := range codes.k {
				longest = max(longest, math.Sqrt(Dot(codes.Row(i), codes.Row(i))))
			}
			l.reach += longest
		}
		from += part.d
	}
	l.rows = newLookupRows(most)
	return l, nil
}

// Len is the number of rows; they are numbered from 0 in order of arrival.
func (l *Lookup) Len() int { return l.n }

// Dim is the length of a decoded row.
func (l *Lookup) Dim() int { return l.product.d }

// Width is the number of codes of a row.
func (l *Lookup) Width() int { return len(l.books) }

// Add appends the codes [n,Width] of rows. It fails, changing nothing, if a code is
// not in its codebook or the lengths do not fit.
func (l *Lookup) Add(codes []uint32, n int) error {
	width, d := l.Width(), l.Dim()
	if n < 0 || len(codes) != n*width {
		return fmt.Errorf("%d codes are not %d rows of %d", len(codes), n, width)
	}
	if n > math.MaxInt32-l.n {
		return fmt.Errorf("%d more rows after %d are too many: an index holds at most %d", n, l.n, math.MaxInt32)
	}
	half := make([]float32, n)
	vectors := make([]float32, min(n, blockRows)*d)
	for start := 0; start < n; start += blockRows {
		count := min(blockRows, n-start)
		if err := l.product.Decode(codes[start*width:(start+count)*width], count, l.levels, vectors[:count*d]); err != nil {
			return fmt.Errorf("after row %d: %w", l.n+start, err)
		}
		for i := range count {
			row := vectors[i*d : (i+1)*d]
			half[start+i] = float32(Dot(row, row) / 2)
		}
	}
	for _, h := range half {
		l.longest = max(l.longest, float64(h))
	}
	l.half = append(l.half, half...)
	l.rows.add(codes)
	l.n += n
	return nil
}

// margin bounds the error of the float32 scores of a query of the given length; ok is
// false if they cannot be trusted at all.
//
// With unit roundoff u, a table's entry is off by at most (d+2) u |x||c|, a sum of
// w entries by (w+1) u (|ĉ|²/2 + |x| Σ|c|), and rounding in the decoded row moves its
// product by at most w u |x| Σ|c|.
func (l *Lookup) margin(length float64) (margin float64, ok bool) {
	const u = 1.0 / (1 << 24)
	w, d := float64(l.Width()), float64(l.Dim())
	products := length * l.reach
	margin = 1.05*u*((w+3)*l.longest+(d+2*w+4)*products) + (2*d+2*w)*math.SmallestNonzeroFloat32
	return margin, products+l.longest < largestScore
}

// decoder measures rows by decoding them.
type decoder struct {
	from   *Lookup
	codes  []uint32  // [width]
	vector []float32 // [d]
}

func (l *Lookup) decoder() *decoder {
	return &decoder{l, make([]uint32, l.Width()), make([]float32, l.Dim())}
}

// measure is the cost of a row by definition.
func (m *decoder) measure(query []float32, item uint32) found {
	m.from.rows.read(int(item)*len(m.codes), m.codes)
	if err := m.from.product.Decode(m.codes, 1, m.from.levels, m.vector); err != nil {
		panic(err) // Add decoded it
	}
	return found{SquaredDistance(query, m.vector), item}
}
