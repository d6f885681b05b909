package index

// lookupQueries is the number of queries whose tables are interleaved: the products
// of one code with them are a cache line.
const lookupQueries = 16

// lookupGroup is a scan for a group of queries.
type lookupGroup struct {
	tables []float32 // -<x,c> [positions, codes, lookupQueries]
	starts []int     // of every position's table
	limits [lookupQueries]float32
	scores [lookupQueries]float32 // of the row that was found
}

// lookupRows is codes [n, positions] in the fewest bytes.
type lookupRows interface {
	add(codes []uint32)
	read(at int, codes []uint32)
	// scan looks for the first row from row first on with a score below its query's
	// limit, and leaves the row's scores in g. It returns the row and a bit for every
	// such query, or the number of rows and no bits.
	scan(g *lookupGroup, first int, half []float32) (row int, below uint32)
}

type packedRows[T uint8 | uint16 | uint32] struct {
	codes []T
	find  func(g *lookupGroup, codes []T, half []float32) (row int, below uint32)
}

// newLookupRows returns no rows of codes below most.
func newLookupRows(most int) lookupRows {
	switch {
	case most <= 1<<8:
		return &packedRows[uint8]{find: supportedScans[uint8]()[0]}
	case most <= 1<<16:
		return &packedRows[uint16]{find: supportedScans[uint16]()[0]}
	}
	return &packedRows[uint32]{find: supportedScans[uint32]()[0]}
}

func (r *packedRows[T]) add(codes []uint32) {
	for _, code := range codes {
		r.codes = append(r.codes, T(code))
	}
}

func (r *packedRows[T]) read(at int, codes []uint32) {
	for i := range codes {
		codes[i] = uint32(r.codes[at+i])
	}
}

func (r *packedRows[T]) scan(g *lookupGroup, first int, half []float32) (row int, below uint32) {
	row, below = r.find(g, r.codes[first*len(g.starts):], half[first:])
	return first + row, below
}

func scanPortable[T uint8 | uint16 | uint32](g *lookupGroup, codes []T, half []float32) (row int, below uint32) {
	for i, h := range half {
		for q := range g.scores {
			g.scores[q] = h
		}
		for p, code := range codes[i*len(g.starts) : (i+1)*len(g.starts)] {
			at := g.starts[p] + int(code)*lookupQueries
			for q, v := range g.tables[at : at+lookupQueries] {
				g.scores[q] += v
			}
		}
		for q, s := range g.scores {
			if s < g.limits[q] {
				below |= 1 << q
			}
		}
		if below != 0 {
			return i, below
		}
	}
	return len(half), 0
}
