package index

import (
	"context"
	"math"
	"sort"
)

// treeIterations bounds the updates at both layers of the tree: the centres are
// a start, which the caller's own iterations refine.
const treeIterations = 8

// tree chooses centres in two layers: groups of rows around about sqrt(k)
// centres, then centres within every group in proportion to its rows.
func (s *seeding) tree(ctx context.Context) ([]float32, error) {
	groups := min(s.n, max(1, int(math.Sqrt(float64(s.k)))))
	coarse, _, err := KMeans(ctx, s.x, s.n, s.d, groups, KMeansOptions{
		Seed: s.rng.Uint64(), Iterations: treeIterations, Tolerance: -1, Workers: s.workers,
	})
	if err != nil {
		return nil, err
	}
	codes, err := NewCodes(coarse, groups, s.d)
	if err != nil {
		return nil, err
	}
	owner, gap := make([]uint32, s.n), make([]float32, s.n)
	codes.Nearest(s.x, s.n, owner, gap, s.workers)
	members := make([][]int, groups)
	for i, g := range owner {
		members[g] = append(members[g], i)
	}
	shares := shareOut(s.k, members)
	seeds := make([]uint64, groups)
	for g := range seeds {
		seeds[g] = s.rng.Uint64()
	}
	found, failed := make([][]float32, groups), make([]error, groups)
	forBlocks(groups, 1, s.workers, func(from, to int) {
		for g := from; g < to; g++ {
			if shares[g] == 0 {
				continue
			}
			rows := make([]float32, 0, len(members[g])*s.d)
			for _, i := range members[g] {
				rows = append(rows, s.row(i)...)
			}
			found[g], _, failed[g] = KMeans(ctx, rows, len(members[g]), s.d, shares[g], KMeansOptions{
				Seed: seeds[g], Iterations: treeIterations, Workers: 1,
			})
		}
	})
	var chosen []float32
	for g := range found {
		if failed[g] != nil {
			return nil, failed[g]
		}
		chosen = append(chosen, found[g]...)
	}
	return chosen, nil
}

// shareOut divides k centres among groups of rows by largest remainder, no
// group more than it has rows. It returns fewer than k in all only when there
// are fewer rows.
func shareOut(k int, members [][]int) []int {
	total := 0
	for _, rows := range members {
		total += len(rows)
	}
	shares, remainders, order := make([]int, len(members)), make([]float64, len(members)), make([]int, len(members))
	left := min(k, total)
	wanted := float64(left) / float64(total) // at most a centre a row
	for g, rows := range members {
		exact := wanted * float64(len(rows))
		shares[g] = min(int(exact), len(rows))
		remainders[g], order[g] = exact-float64(shares[g]), g
		left -= shares[g]
	}
	sort.SliceStable(order, func(i, j int) bool { return remainders[order[i]] > remainders[order[j]] })
	for i := 0; left > 0; i++ {
		if g := order[i%len(order)]; shares[g] < len(members[g]) {
			shares[g]++
			left--
		}
	}
	return shares
}
