package index

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestSearchBlocksMatchesExact(t *testing.T) {
	const n, d, queries, k = 21000, 512, 3, 5 // two blocks
	rows := normals(1, n*d)
	copy(rows[20000*d:], rows[7*d:8*d]) // a tie across blocks
	x := slices.Concat(normals(2, (queries-1)*d), rows[7*d:8*d])
	exact, err := NewExact(Euclidean, rows, n, d)
	if err != nil {
		t.Fatal(err)
	}
	wantItems, want := make([]uint32, queries*k), make([]float32, queries*k)
	exact.Search(x, queries, k, wantItems, want, SearchOptions{})
	items, distances, blocks := make([]uint32, queries*k), make([]float32, queries*k), 0
	read := func(start, count int, into []float32) error {
		copy(into, rows[start*d:(start+count)*d])
		return nil
	}
	err = SearchBlocks(t.Context(), n, d, read, x, queries, k, items, distances, SearchOptions{}, func(int) { blocks++ })
	if err != nil || blocks < 2 {
		t.Fatalf("%d blocks, %v", blocks, err)
	}
	sameAnswer(t, items, wantItems, distances, want)
	broken := errors.New("broken")
	err = SearchBlocks(t.Context(), 3, d, func(int, int, []float32) error { return broken }, x, 1, 1, items, distances, SearchOptions{}, nil)
	if !errors.Is(err, broken) {
		t.Errorf("an error of read became %v", err)
	}
}

func TestMergeNearest(t *testing.T) {
	items, distances := []uint32{3, Missing}, []float32{2, float32(math.Inf(1))}
	mergeNearest(items, distances, []uint32{0, 1}, []float32{2, 2}, 10)
	if !slices.Equal(items, []uint32{3, 10}) || !slices.Equal(distances, []float32{2, 2}) {
		t.Errorf("merged %v %v", items, distances)
	}
	mergeNearest(items, distances, []uint32{5, Missing}, []float32{1, float32(math.Inf(1))}, 20)
	if !slices.Equal(items, []uint32{25, 3}) || !slices.Equal(distances, []float32{1, 2}) {
		t.Errorf("merged %v %v", items, distances)
	}
}
