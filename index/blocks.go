package index

import (
	"context"
	"fmt"
	"math"
)

// searchedBlock is the number of bytes of the rows that [SearchBlocks] holds at a time.
const searchedBlock = 32 << 20

// SearchBlocks finds the k nearest of n rows for each query of x [queries,d], as
// [Exact] does, for rows that do not fit into memory or are made as they are needed:
// read fills rows [count,d] from row start on. progress, unless nil, is told how many
// rows were compared. It fails if read does, if ctx ends, or if a row is not finite.
func SearchBlocks(ctx context.Context, n, d int, read func(start, count int, rows []float32) error, x []float32, queries, k int,
	items []uint32, distances []float32, opt SearchOptions, progress func(rows int)) error {
	checkSearch("SearchBlocks", x, queries, d, k, items, distances)
	for i := range queries * k {
		items[i], distances[i] = Missing, float32(math.Inf(1))
	}
	block := min(n, max(blockRows, searchedBlock/(4*d)))
	rows := make([]float32, block*d)
	found, gaps := make([]uint32, queries*k), make([]float32, queries*k)
	for start := 0; start < n; start += block {
		if err := ctx.Err(); err != nil {
			return err
		}
		count := min(block, n-start)
		if err := read(start, count, rows[:count*d]); err != nil {
			return err
		}
		exact, err := NewExact(Euclidean, rows[:count*d], count, d)
		if err != nil {
			return fmt.Errorf("rows %d to %d: %w", start, start+count-1, err)
		}
		exact.Search(x, queries, k, found, gaps, opt)
		for q := range queries {
			at := q * k
			mergeNearest(items[at:at+k], distances[at:at+k], found[at:at+k], gaps[at:at+k], uint32(start))
		}
		if progress != nil {
			progress(start + count)
		}
	}
	return nil
}

// mergeNearest merges the nearest rows of a later block, whose first row is start, into
// the nearest rows so far.
func mergeNearest(items []uint32, distances []float32, found []uint32, gaps []float32, start uint32) {
	oldItems, oldDistances := append([]uint32(nil), items...), append([]float32(nil), distances...)
	a, b := 0, 0
	for i := range items {
		// Of equal distances the earlier block has the lower row.
		if found[b] == Missing || oldItems[a] != Missing && oldDistances[a] <= gaps[b] {
			items[i], distances[i] = oldItems[a], oldDistances[a]
			a++
			continue
		}
		items[i], distances[i] = found[b]+start, gaps[b]
		b++
	}
}
