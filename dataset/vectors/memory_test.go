package vectors

import (
	"slices"
	"testing"
)

func TestVectorsInMemory(t *testing.T) {
	v, err := FromSlice("here", []float32{1, 2, 3, 4, 5, 6}, 2)
	if err != nil {
		t.Fatal(err)
	}
	view := v.View()
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 4)
	if err := view.Gather([]int{2, 0}, got); err != nil || !slices.Equal(got, []float32{5, 6, 1, 2}) {
		t.Errorf("rows 2 and 0 of a view are %v, %v", got, err)
	}
	for _, dim := range []int{0, 4, -1} {
		_, err := FromSlice("here", []float32{1, 2, 3}, dim)
		wantError(t, err, "here", "whole row")
	}
}
