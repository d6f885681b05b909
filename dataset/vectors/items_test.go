package vectors

import (
	"slices"
	"testing"
)

func TestReadAndDraw(t *testing.T) {
	v, err := Open(t.Context(), "synthetic:mixture?rows=9&dim=4", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	rows := []int{7, 2}
	want := make([]float32, 2*v.Input())
	if err := v.Gather(rows, want); err != nil {
		t.Fatal(err)
	}
	items, kept, err := v.Read(rows)
	if err != nil || items.N != 2 || !slices.Equal(kept, rows) || !slices.Equal(items.Values, want) || items.Pixels != nil {
		t.Errorf("%+v, rows %v, %v", items, kept, err)
	}
	if drawn, err := v.Draw(rows, 3, 4); err != nil || !slices.Equal(drawn.Values, want) {
		t.Errorf("%+v, %v", drawn, err)
	}
	if _, _, err := v.Read([]int{9}); err == nil {
		t.Error("read a row that is not there")
	}
}
