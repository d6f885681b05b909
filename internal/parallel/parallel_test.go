package parallel

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

func TestEachVisitsAll(t *testing.T) {
	for _, n := range []int{0, 1, 100} {
		for _, workers := range []int{-1, 1, 7} {
			seen := make([]atomic.Int32, n)
			if err := Each(n, workers, func(i int) error { seen[i].Add(1); return nil }); err != nil {
				t.Fatal(err)
			}
			for i := range seen {
				if got := seen[i].Load(); got != 1 {
					t.Errorf("%d workers: %d of %d was visited %d times", workers, i, n, got)
				}
			}
		}
	}
}

func TestEachStopsAtAnError(t *testing.T) {
	var calls atomic.Int32
	err := Each(1000, 2, func(i int) error {
		calls.Add(1)
		if i >= 3 {
			return fmt.Errorf("piece %d: %w", i, errors.ErrUnsupported)
		}
		return nil
	})
	if err == nil || err.Error() != "piece 3: unsupported operation" || calls.Load() > 10 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}
