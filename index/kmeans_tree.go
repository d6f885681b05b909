package index

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// treeIterations bounds the updates at both layers: the caller's iterations refine.
const treeIterations = 8

// tree groups the rows around about sqrt(k) centres and clusters every group, with
// centres in proportion to its rows.
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
	owner := make([]uint32, s.n)
	codes.Nearest(s.x, s.n, owner, nil, s.workers)
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

// shareOut divides k centres, or one a row, among groups of rows by largest
// remainder; no group has more centres than rows.
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
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })
	for i := 0; left > 0; i++ {
		if g := order[i%len(order)]; shares[g] < len(members[g]) {
			shares[g]++
			left--
		}
	}
	return shares
}
