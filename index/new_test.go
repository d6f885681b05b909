package index

import "testing"

// Every kind finds the row that is asked for, and no other kind is made.
func TestNew(t *testing.T) {
	rows := []float32{1, 0, 0, 1, -1, 0, 0, -1}
	for _, kind := range append([]string{""}, Kinds...) {
		index, err := New(t.Context(), kind, InnerProduct, rows, 4, 2)
		if err != nil {
			t.Fatal(err)
		}
		found, scores := make([]uint32, 1), make([]float32, 1)
		index.Search([]float32{0.1, -2}, 1, 1, found, scores, SearchOptions{Effort: 100})
		if found[0] != 3 || scores[0] != 2 {
			t.Errorf("%q finds row %d with %g", kind, found[0], scores[0])
		}
	}
	if _, err := New(t.Context(), "tree", InnerProduct, rows, 4, 2); err == nil {
		t.Error("an index of an unknown kind was made")
	}
}
