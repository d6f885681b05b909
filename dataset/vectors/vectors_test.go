package vectors

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/rowfile"
)

func TestReadsOutsideAreErrors(t *testing.T) {
	v := mustOpen(t, writeFile(t, "x.npy", []byte(goldenNPY)), Options{})
	three, six := make([]float32, 3), make([]float32, 6)
	wantError(t, v.Rows(-1, 1, three), "do not exist")
	wantError(t, v.Rows(1, 2, six), "rows 1 to 2 do not exist, it has 2")
	wantError(t, v.Rows(0, 2, three), "cannot hold 2 rows of 3")
	wantError(t, v.Gather([]int{0, 2}, six), "rows 2 to 2 do not exist")
	wantError(t, v.Gather([]int{0}, six), "cannot hold 1 rows")
	if err := v.Rows(2, 0, nil); err != nil {
		t.Errorf("reading no rows: %v", err)
	}
}

func TestTruncationWhileInUseIsAnError(t *testing.T) {
	path := writeFile(t, "x.npy", []byte(goldenNPY))
	v := mustOpen(t, path, Options{})
	if err := os.Truncate(path, int64(len(goldenNPY))-4); err != nil {
		t.Fatal(err)
	}
	three := make([]float32, 3)
	if err := v.Rows(0, 1, three); err != nil {
		t.Errorf("the intact row: %v", err)
	}
	wantError(t, v.Rows(1, 1, three), path, "became shorter")
	_, err := v.Scan(context.Background(), nil)
	wantError(t, err, "became shorter")
}

func TestCloseEndsReadingButNotViews(t *testing.T) {
	v := mustOpen(t, writeFile(t, "x.npy", []byte(goldenNPY)), Options{})
	view, dropped, err := v.DropNonFinite(context.Background())
	if err != nil || dropped != 0 {
		t.Fatal(dropped, err)
	}
	for range 2 {
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	three := make([]float32, 3)
	if err := v.Rows(0, 1, three); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := view.Rows(0, 1, three); err != nil {
		t.Errorf("view after its origin closed: %v", err)
	}
	if err := view.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := view.source.(*rowfile.Table[float32]).Reader.(source).Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is still open: %v", err)
	}
}

func TestConcurrentReads(t *testing.T) {
	const rows, dim = 4000, 24
	values := make([]float32, rows*dim)
	for i := range values {
		values[i] = float32(i)
	}
	v := mustOpen(t, writeVectors(t, "x.fvecs", dim, values), Options{})
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			order := dataset.NewPermutation(rows, uint64(worker))
			wanted := make([]int, 700)
			got := make([]float32, len(wanted)*dim)
			for i := range wanted {
				wanted[i] = order.At(i)
			}
			if err := v.Gather(wanted, got); err != nil {
				t.Error(err)
			}
			for i, row := range wanted {
				if !slices.Equal(got[i*dim:(i+1)*dim], values[row*dim:(row+1)*dim]) {
					t.Errorf("row %d differs", row)
					return
				}
			}
		})
	}
	group.Wait()
}
