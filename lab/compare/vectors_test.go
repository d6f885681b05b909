package compare

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func randomRows(n, d int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n*d)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// sortedNearest ranks every row by its distance, in the plainest way.
func sortedNearest(query []float32, own int, database []float32, d, k int) []int {
	type candidate struct {
		row      int
		distance float64
	}
	var all []candidate
	for row := range len(database) / d {
		sum := 0.0
		for i, q := range query {
			gap := float64(q) - float64(database[row*d+i])
			sum += gap * gap
		}
		if row != own {
			all = append(all, candidate{row, sum})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var rows []int
	for _, c := range all[:min(k, len(all))] {
		rows = append(rows, c.row)
	}
	return rows
}

// neighboursOf is nearest, whose errors end the test.
func neighboursOf(t *testing.T, x []float32, queries int, database []float32, d, k int) [][]int {
	t.Helper()
	found, err := nearest(x, queries, database, d, k)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestNearestIsBruteForce(t *testing.T) {
	for _, shape := range [][3]int{{60, 3, 10}, {200, 70, 10}, {40, 200, 5}, {7, 4, 10}, {1, 4, 10}} {
		n, d, k := shape[0], shape[1], shape[2]
		x, database := randomRows(n, d, 1), randomRows(n, d, 2)
		queries := max(1, n/3)
		for q, got := range neighboursOf(t, x, queries, database, d, k) {
			if want := sortedNearest(x[q*d:(q+1)*d], q, database, d, k); !slices.Equal(got, want) {
				t.Fatalf("%v: query %d found %v, want %v", shape, q, got, want)
			}
		}
	}
}

func TestTiesGoToTheLowestRow(t *testing.T) {
	// Rows 1 to 5 are equally far from row 0, in another place each.
	database := []float32{0, 0, 1, 0, 0, 1, -1, 0, 0, -1, 1, 0}
	if got, want := neighboursOf(t, database, 1, database, 2, 3)[0], []int{1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestRecallCountsCommonNeighbours(t *testing.T) {
	truth := [][]int{{1, 2, 3, 4}, {5, 6, 7, 8}}
	if got := recall(truth, [][]int{{4, 3, 9, 10}, {8, 7, 6, 5}}); got != 0.75 {
		t.Errorf("recall %g, want 0.75", got)
	}
	if got := recall(nil, nil); got != 0 {
		t.Errorf("recall %g without queries", got)
	}
}

// A vector's neighbours are lost when it is decoded far away, and kept when
// nothing changes.
func TestRecallOfDecodedVectors(t *testing.T) {
	const n, d = 300, 8
	x := randomRows(n, d, 3)
	truth := neighboursOf(t, x, 50, x, d, neighbourCount)
	if got := recall(truth, neighboursOf(t, x, 50, x, d, neighbourCount)); got != 1 {
		t.Errorf("recall %g of vectors decoded as they are", got)
	}
	if got := recall(truth, neighboursOf(t, x, 50, randomRows(n, d, 4), d, neighbourCount)); got > 0.2 {
		t.Errorf("recall %g of unrelated vectors", got)
	}
}
