package index

import (
	"context"
	"math"
)

// Survivors writes to out [n,keep,levels] the best encodings of the rows of x [n,d]
// among those that a beam search ends with, and to gaps [n,keep] by how much their
// squared errors exceed the first's. Where there are fewer, the last is repeated with
// an infinite gap. It fails if ctx ends first, and panics if beam or keep is not positive or
// a slice is too short.
func (q *Additive) Survivors(ctx context.Context, x []float32, n, beam, keep int, out []uint32, gaps []float32, workers int) error {
	levels := len(q.levels)
	if beam < 1 || keep < 1 {
		panic("index: Survivors of an empty beam")
	}
	checkLengths("Additive.Survivors", len(x), n*q.d, len(out), n*keep*levels, n)
	checkLengths("Additive.Survivors", len(x), n*q.d, len(gaps), n*keep, n)
	return forBlocksUntil(ctx, n, additiveRows, workers, func(from, to int) {
		m := q.takeMemory(x[from*q.d:], to-from, levels)
		defer m.release()
		for i := from; i < to; i++ {
			alive := q.searchBeam(m, i-from, levels, beam)
			for b := range keep {
				at := min(b, alive-1)
				q.sourced(m.paths[0][at*levels:(at+1)*levels], out[(i*keep+b)*levels:])
				switch gap := &gaps[i*keep+b]; {
				case b >= alive:
					*gap = float32(math.Inf(1))
				case b == 0:
					*gap = 0 // also of a row that is not finite
				default:
					*gap = m.energy[at] - m.energy[0]
				}
			}
		}
	})
}

// searchBeam leaves in m.paths[0] [alive,levels] the packed encodings of row i that a
// beam of the given width ends with, best first, and returns alive.
func (q *Additive) searchBeam(m *additiveMemory, i, levels, width int) int {
	m.picks = resized(m.picks, width)
	m.energy = resized(m.energy, width)
	for p := range m.paths {
		m.paths[p] = resized(m.paths[p], width*levels)
	}
	m.energy[0] = m.first[i]
	alive := 1
	for l, codes := range q.levels[:levels] {
		grown, filled := min(width, alive*len(codes.source)), 0
		for h := range alive {
			scores := q.scoresOf(m, i, l, m.paths[0][h*levels:h*levels+l], -1)
			filled = codes.kernel.merge(m.picks[:grown], filled, scores, m.energy[h], int32(h))
		}
		if filled == 0 { // no score is finite
			m.picks[0], filled = candidate{error: m.energy[0]}, 1
		}
		for b, pick := range m.picks[:filled] {
			path := m.paths[1][b*levels : (b+1)*levels]
			copy(path, m.paths[0][int(pick.parent)*levels:][:l])
			path[l], m.energy[b] = uint32(pick.code), pick.error
		}
		m.paths[0], m.paths[1] = m.paths[1], m.paths[0]
		alive = filled
	}
	return alive
}
