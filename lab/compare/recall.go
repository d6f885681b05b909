package compare

import (
	"runtime"
	"slices"
	"sync"

	"github.com/gritvq/gritvq/index"
)

// Neighbours is the number of nearest neighbours recall is measured on.
const Neighbours = 10

// Bounds of the recall measurement.
const (
	databaseRows = 10_000
	queryRows    = 1_000
)

// Nearest finds, for each of the first queries rows of x [n,d], the k nearest
// rows of database [m,d] in Euclidean distance, nearest first. Row i of the
// database stands for the same thing as row i of x and is left out of its own
// neighbours. Distances are exact (float64, in fixed order) and ties go to the
// lowest row, so the answer is the same on every machine. With fewer than k
// other rows, all of them are returned.
func Nearest(x []float32, queries int, database []float32, d, k int) [][]int {
	found := make([][]int, queries)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(queries, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for q := range next {
				found[q] = nearestTo(x[q*d:(q+1)*d], q, database, d, k)
			}
		})
	}
	for q := range queries {
		next <- q
	}
	close(next)
	workers.Wait()
	return found
}

// distanceSlice is the number of coordinates between looks at whether a row can
// still be among the nearest.
const distanceSlice = 64

// nearestTo searches for one query, leaving out row own.
func nearestTo(query []float32, own int, database []float32, d, k int) []int {
	rows, distances := make([]int, 0, k+1), make([]float64, 0, k+1)
	for row := range len(database) / d {
		if row == own {
			continue
		}
		candidate, sum := database[row*d:(row+1)*d], 0.0
		for c := 0; c < d && (len(rows) < k || sum < distances[k-1]); c += distanceSlice {
			end := min(d, c+distanceSlice)
			sum += index.SquaredDistance(query[c:end], candidate[c:end])
		}
		if len(rows) == k && !(sum < distances[k-1]) {
			continue
		}
		at := len(rows)
		for at > 0 && sum < distances[at-1] {
			at--
		}
		rows, distances = slices.Insert(rows, at, row), slices.Insert(distances, at, sum)
		if len(rows) > k {
			rows, distances = rows[:k], distances[:k]
		}
	}
	return rows
}

// Recall is the share of true neighbours that were found, averaged over queries;
// both are [queries][k]. It is 0 without neighbours.
func Recall(truth, found [][]int) float64 {
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
