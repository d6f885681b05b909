package compare

import (
	"slices"

	"github.com/gritvq/gritvq/index"
)

const (
	neighbourCount = 10 // nearest neighbours of a query
	databaseRows   = 10_000
	queryRows      = 1_000
)

// nearest finds for each of the first queries rows of x [n,d] the k nearest rows of database [m,d], nearest first; ties
// go to the lowest row. Row i of the database belongs to row i of x and is left out of its own neighbours.
func nearest(x []float32, queries int, database []float32, d, k int) ([][]int, error) {
	n := len(database) / d
	rows, err := index.NewExact(index.Euclidean, database, n, d)
	if err != nil {
		return nil, err
	}
	more := min(k+1, n) // the own row may be among them
	items := make([]uint32, queries*more)
	rows.Search(x[:queries*d], queries, more, items, nil, index.SearchOptions{})
	found := make([][]int, queries)
	for q := range found {
		for _, row := range items[q*more : (q+1)*more] {
			if int(row) != q && len(found[q]) < k {
				found[q] = append(found[q], int(row))
			}
		}
	}
	return found, nil
}

// recall is the share of true neighbours [queries][k] that were found.
func recall(truth, found [][]int) float64 {
	hits, total := 0, 0
	for q, nearest := range truth {
		total += len(nearest)
		for _, row := range nearest {
			if slices.Contains(found[q], row) {
				hits++
			}
		}
	}
	return float64(hits) / float64(max(1, total))
}
