package data

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestPrefetcherDeliversEveryStepInOrder(t *testing.T) {
	v := mustOpen(t, "synthetic:mixture?rows=500&dim=4", Options{})
	s, _ := NewSampler(All(500), 32, 1)
	p := NewPrefetcher(context.Background(), v, s, 7, 60, 3)
	defer p.Close()
	rows, values := make([]int, 32), make([]float32, 32*4)
	for step := int64(7); step < 60; step++ {
		batch, err := p.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		s.Batch(step, rows)
		if err := v.Gather(rows, values); err != nil {
			t.Fatal(err)
		}
		if step%9 == 0 { // let the reader run ahead while the batch is in use
			time.Sleep(2 * time.Millisecond)
		}
		if batch.Step != step || !slices.Equal(batch.Rows, rows) || !slices.Equal(batch.Values, values) {
			t.Fatalf("step %d: got step %d with other data", step, batch.Step)
		}
	}
	for range 2 {
		if _, err := p.Next(context.Background()); err != io.EOF {
			t.Fatalf("after the last step: %v", err)
		}
	}
}

// breaksAfter fails from a number of reads on.
type breaksAfter struct{ reads, limit int }

func (b *breaksAfter) readRows(start, n int, dst []float32) error {
	if b.reads++; b.reads > b.limit {
		return errors.New("the disk broke")
	}
	return nil
}

func TestPrefetcherDeliversErrorsInOrder(t *testing.T) {
	v := newVectors("x", 100, 2, &breaksAfter{limit: 5 * 10}, nil)
	s, _ := NewSampler(All(100), 10, 1)
	p := NewPrefetcher(context.Background(), v, s, 0, 100, 8)
	defer p.Close()
	for step := range int64(5) {
		if batch, err := p.Next(context.Background()); err != nil || batch.Step != step {
			t.Fatalf("step %d: %v", step, err)
		}
	}
	for range 2 {
		_, err := p.Next(context.Background())
		wantError(t, err, "batch of step 5", "the disk broke")
	}
}

func TestPrefetcherStops(t *testing.T) {
	before := runtime.NumGoroutine()
	v := mustOpen(t, "synthetic:mixture?rows=500&dim=4", Options{})
	s, _ := NewSampler(All(500), 32, 1)
	for _, consumed := range []int{0, 1, 5} {
		ctx, cancel := context.WithCancel(context.Background())
		p := NewPrefetcher(ctx, v, s, 0, 1<<40, 2)
		for range consumed {
			if _, err := p.Next(ctx); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		for { // what was ready may still come
			_, err := p.Next(context.Background())
			if errors.Is(err, context.Canceled) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		p.Close()
		p.Close()
	}
	p := NewPrefetcher(context.Background(), v, s, 0, 1<<40, 2)
	p.Close()
	for deadline := time.Now().Add(2 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(time.Millisecond)
	}
}

// blocked never delivers until released.
type blocked struct{ release chan struct{} }

func (b *blocked) readRows(start, n int, dst []float32) error { <-b.release; return os.ErrClosed }

func TestNextGivesUpWithItsContext(t *testing.T) {
	source := &blocked{make(chan struct{})}
	s, _ := NewSampler(All(10), 2, 1)
	p := NewPrefetcher(context.Background(), newVectors("x", 10, 1, source, nil), s, 0, 10, 1)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := p.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	close(source.release)
	p.Close()
}
