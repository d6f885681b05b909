package dataset

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestPrefetcherDeliversEveryStepInOrder(t *testing.T) {
	var ahead atomic.Int64
	p := NewPrefetcher(t.Context(), 7, 60, 3, func(step int64) (int64, error) {
		ahead.Store(step)
		return 10 * step, nil
	}, nil)
	defer p.Close()
	for step := int64(7); step < 60; step++ {
		batch, err := p.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if step%9 == 0 { // let the reader run ahead
			time.Sleep(2 * time.Millisecond)
		}
		if batch != 10*step {
			t.Fatalf("step %d: got %d", step, batch)
		}
		if most := ahead.Load() - step; most > 5 { // three wait, one is handed over, one is made
			t.Fatalf("the reader is %d steps ahead", most)
		}
	}
	for range 2 {
		if _, err := p.Next(t.Context()); err != io.EOF {
			t.Fatalf("after the last step: %v", err)
		}
	}
}

func TestPrefetcherDeliversErrorsInOrder(t *testing.T) {
	p := NewPrefetcher(t.Context(), 0, 100, 8, func(step int64) (int64, error) {
		if step == 5 {
			return 0, errors.New("the disk broke")
		}
		return step, nil
	}, nil)
	defer p.Close()
	for step := range int64(5) {
		if batch, err := p.Next(t.Context()); err != nil || batch != step {
			t.Fatalf("step %d: %v", step, err)
		}
	}
	for range 2 {
		_, err := p.Next(t.Context())
		if err == nil || !strings.Contains(err.Error(), "batch of step 5") || !strings.Contains(err.Error(), "the disk broke") {
			t.Errorf("a failed read: %v", err)
		}
	}
}

// However a run ends, the goroutine does too, and every batch is either handed
// out or dropped.
func TestPrefetcherStops(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, consumed := range []int64{0, 1, 5} {
		var made, dropped atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		p := NewPrefetcher(ctx, 0, 1<<40, 2, func(step int64) (int64, error) { made.Add(1); return step, nil }, func(int64) { dropped.Add(1) })
		for range consumed {
			if _, err := p.Next(ctx); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		taken := consumed
		for { // batches that were ready may still come
			_, err := p.Next(context.Background())
			if errors.Is(err, context.Canceled) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			taken++
		}
		p.Close()
		p.Close()
		if made.Load() != taken+dropped.Load() {
			t.Errorf("%d batches made, %d taken and %d dropped", made.Load(), taken, dropped.Load())
		}
	}
	for deadline := time.Now().Add(2 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestNextGivesUpWithItsContext(t *testing.T) {
	release := make(chan struct{})
	p := NewPrefetcher(t.Context(), 0, 10, 1, func(int64) (int, error) { <-release; return 0, os.ErrClosed }, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := p.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	close(release)
	p.Close()
}
