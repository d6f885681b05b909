package index

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// Searches over many rows end soon after their context.
func TestAdditiveSearchesEnd(t *testing.T) {
	const n, d = 1 << 20, 8
	x, q := make([]float32, n*d), newAdditive(t, bestKernel, 4, d, 64, 64)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	codes, gaps, weights := make([]uint32, n*2), make([]float32, n), make([]float32, n)
	books := [][]float32{normals(1, 64*d), normals(2, 64*d)}
	begun := time.Now()
	for name, search := range map[string]func() error{
		"survivors": func() error { return q.Survivors(ctx, x, n, 16, 1, codes, gaps, 0) },
		"improve":   func() error { return q.Improve(ctx, x, n, codes, 8, 1, 0) },
		"refit": func() error {
			_, err := Refit(ctx, x, n, d, codes, weights, books, []float64{0, 0}, 4, 0)
			return err
		},
		"k-means": func() error {
			_, err := (&lloyd{clustering{x, n, d, 64, 0}, books[0], codes, gaps, make([]int, 64)}).assign(ctx)
			return err
		},
	} {
		if err := search(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A search that is under way when its context ends does not go on to the last row.
func TestSearchesEndOnTheWay(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var done atomic.Int64
	err := forBlocksUntil(ctx, 1<<20, blockRows, 2, func(from, to int) {
		if done.Add(1) == 3 {
			cancel()
		}
	})
	if got := done.Load(); !errors.Is(err, context.Canceled) || got > 6 {
		t.Errorf("%v after %d blocks", err, got)
	}
}
