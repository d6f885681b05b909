package dataset

import (
	"context"
	"fmt"
	"io"
)

// Prefetcher makes the batches of a training loop ahead of it, in one
// goroutine. Next is for one caller at a time; Close may be called from
// anywhere.
type Prefetcher[T any] struct {
	cancel context.CancelFunc
	ready  chan prefetched[T]
	done   chan struct{}
	ctx    context.Context // the goroutine's, for its error once it has ended
	drop   func(T)
	final  error
}

type prefetched[T any] struct {
	batch T
	err   error
}

// NewPrefetcher starts making the batches of the steps first..end-1 by calling
// read, at most depth (at least 1) ahead of Next. drop, if not nil, releases a
// batch that no Next asked for. Call Close when done, also after an error; the
// goroutine also ends when ctx does.
func NewPrefetcher[T any](ctx context.Context, first, end int64, depth int, read func(step int64) (T, error), drop func(T)) *Prefetcher[T] {
	ctx, cancel := context.WithCancel(ctx)
	p := &Prefetcher[T]{ctx: ctx, cancel: cancel, ready: make(chan prefetched[T], max(depth, 1)), done: make(chan struct{}), drop: drop}
	go p.run(first, end, read)
	return p
}

func (p *Prefetcher[T]) run(first, end int64, read func(step int64) (T, error)) {
	defer close(p.done)
	for step := first; p.ctx.Err() == nil; step++ {
		var item prefetched[T]
		if step >= end {
			item.err = io.EOF
		} else if batch, err := read(step); err != nil {
			item.err = fmt.Errorf("batch of step %d: %w", step, err)
		} else {
			item.batch = batch
		}
		select {
		case p.ready <- item:
		case <-p.ctx.Done():
			p.discard(item)
			return
		}
		if item.err != nil {
			return
		}
	}
}

func (p *Prefetcher[T]) discard(item prefetched[T]) {
	if item.err == nil && p.drop != nil {
		p.drop(item.batch)
	}
}

// Next returns the next step's batch, which is the caller's. After the last
// step it returns io.EOF. An error of read arrives at its own step, after the
// batches before it, and is returned from then on; so is the context's error
// once ctx or the Prefetcher's own context has ended.
func (p *Prefetcher[T]) Next(ctx context.Context) (batch T, err error) {
	if p.final != nil {
		return batch, p.final
	}
	var item prefetched[T]
	select {
	case item = <-p.ready:
	case <-ctx.Done():
		return batch, ctx.Err()
	case <-p.done:
		select { // the goroutine's last words
		case item = <-p.ready:
		default:
			item.err = p.ctx.Err()
		}
	}
	p.final = item.err
	return item.batch, item.err
}

// Close stops reading, waits for the goroutine and releases unused batches.
func (p *Prefetcher[T]) Close() {
	p.cancel()
	<-p.done
	for {
		select {
		case item := <-p.ready:
			p.discard(item)
		default:
			return
		}
	}
}
