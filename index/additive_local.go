package index

import (
	"context"
	"math/bits"
	"math/rand/v2"
)

// Iterated local search, as in LSQ++ (Martinez et al. 2018) and FAISS.
const (
	localPasses = 4  // over the levels, at most, of one descent
	localRounds = 16 // descents from perturbed codes when encoding
)

// NewLocal returns an encoder for codes of which none is finer than others: it improves
// the best encoding of a beam by iterated local search. Each round exchanges codes of
// half of the levels at random, the same for all rows, and descends; the better encoding
// is kept. It fails as [NewAdditive] does.
func NewLocal(levels ...*Codes) (*Residual, error) {
	q, err := NewAdditive(levels...)
	if err != nil {
		return nil, err
	}
	stack := *q.Residual
	stack.local = q
	return &stack, nil
}

// Improve replaces the codes [n,levels] of the rows of x [n,d] by better ones where
// iterated local search finds them. Equal seeds give equal codes. It fails if ctx ends first.
func (q *Additive) Improve(ctx context.Context, x []float32, n int, codes []uint32, rounds int, seed uint64, workers int) error {
	levels := len(q.levels)
	checkLengths("Additive.Improve", len(x), n*q.d, len(codes), n*levels, n)
	swaps := q.swaps(rounds, levels, seed)
	return forBlocksUntil(ctx, n, additiveRows, workers, func(from, to int) {
		m := q.takeMemory(x[from*q.d:], to-from, levels)
		defer m.release()
		best := make([]uint32, levels)
		for i := from; i < to; i++ {
			own := codes[i*levels : (i+1)*levels]
			for l, code := range own {
				best[l] = q.place[l][code]
			}
			q.improve(m, i-from, best, swaps)
			q.keepBetter(m, x[i*q.d:(i+1)*q.d], own, best)
		}
	})
}

// encodeLocal encodes e.x into e.codes.
func (q *Additive) encodeLocal(e *encoding, beam int) {
	swaps := q.swaps(localRounds, e.levels, 0)
	m := q.takeMemory(e.x, e.rows, e.levels)
	defer m.release()
	best := make([]uint32, e.levels)
	for i := range e.rows {
		q.searchBeam(m, i, e.levels, max(1, beam))
		copy(best, m.paths[0])
		own := e.codes[i*e.levels : (i+1)*e.levels]
		q.sourced(best, own)
		q.improve(m, i, best, swaps)
		q.keepBetter(m, e.x[i*q.d:(i+1)*q.d], own, best)
	}
}

// keepBetter replaces codes by packed ones of smaller squared error.
func (q *Additive) keepBetter(m *additiveMemory, x []float32, codes, packed []uint32) {
	q.sourced(packed, m.path)
	if path := m.path[:len(codes)]; q.squaredError(x, path, m.decoded) < q.squaredError(x, codes, m.decoded) {
		copy(codes, path)
	}
}

// swap puts a packed code at a level.
type swap struct {
	level int
	code  uint32
}

// swaps returns the random exchanges of every round, at half of the levels.
func (q *Additive) swaps(rounds, levels int, seed uint64) [][]swap {
	rng := rand.New(rand.NewPCG(seed, 0x6c7371))
	all := make([][]swap, rounds)
	for r := range all {
		for _, l := range rng.Perm(levels)[:(levels+1)/2] {
			all[r] = append(all[r], swap{l, rng.Uint32N(uint32(len(q.levels[l].source)))})
		}
	}
	return all
}

// improve lowers the error of the packed codes of row i.
func (q *Additive) improve(m *additiveMemory, i int, best []uint32, swaps [][]swap) {
	q.descend(m, i, best)
	least := q.energyOf(m, i, best)
	tried := m.codes[:len(best)]
	for _, round := range swaps {
		copy(tried, best)
		for _, s := range round {
			tried[s.level] = s.code
		}
		q.descend(m, i, tried)
		if energy := q.energyOf(m, i, tried); energy < least {
			least = energy
			copy(best, tried)
		}
	}
}

// descend takes every level in turn to its best code given the others (iterated
// conditional modes), until none changes.
func (q *Additive) descend(m *additiveMemory, i int, codes []uint32) {
	for range localPasses {
		changed := false
		for l := range codes {
			scores := q.scoresOf(m, i, l, codes, l)
			if best := q.levels[l].kernel.least(scores, codes[l]); best != codes[l] {
				codes[l], changed = best, true
			}
		}
		if !changed {
			return
		}
	}
}

// least returns the position of the smallest score; ties go to the current one, then to the first.
func (k *kernel) least(scores []float32, current uint32) uint32 {
	limit := scores[current]
	for first := 0; first < len(scores); first += panelCodes {
		low := k.below((*[panelCodes]float32)(scores[first:]), 0, 2*limit)
		for ; low != 0; low &= low - 1 {
			if at := first + bits.TrailingZeros32(low); scores[at] < limit {
				limit, current = scores[at], uint32(at)
			}
		}
	}
	return current
}

// energyOf is half the squared error of packed codes of row i, up to a constant.
func (q *Additive) energyOf(m *additiveMemory, i int, codes []uint32) float64 {
	energy := 0.0
	for l, code := range codes {
		stride := len(q.levels[l].half)
		energy += float64(m.unary[l][i*stride+int(code)])
		for a, other := range codes[:l] {
			energy += float64(q.products[a][l][int(other)*stride+int(code)])
		}
	}
	return energy
}
