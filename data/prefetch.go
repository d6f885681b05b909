package data

import (
	"context"
	"fmt"
	"io"
)

// Batch is one step's training data.
type Batch struct {
	Step   int64
	Rows   []int     // row numbers [B]
	Values []float32 // their vectors [B*Dim]
}

// Prefetcher reads batches ahead of the training loop in one goroutine. Next
// is for one caller at a time; Close may be called from anywhere.
type Prefetcher struct {
	cancel context.CancelFunc
	ready  chan prefetched
	free   chan *Batch
	done   chan struct{}
	ctx    context.Context // the goroutine's, for its error once it has ended
	held   *Batch          // handed out by the last Next
	final  error
}

type prefetched struct {
	batch *Batch
	err   error
}

// NewPrefetcher starts reading the batches of the steps first..end-1 of
// sampler from vectors, at most depth (at least 1) ahead of Next. It holds
// depth+2 batches of memory. Call Close when done, also after an error; the
// goroutine also ends when ctx does.
func NewPrefetcher(ctx context.Context, vectors *Vectors, sampler *Sampler, first, end int64, depth int) *Prefetcher {
	depth = max(depth, 1)
	ctx, cancel := context.WithCancel(ctx)
	p := &Prefetcher{
		ctx:    ctx,
		cancel: cancel,
		ready:  make(chan prefetched, depth),
		free:   make(chan *Batch, depth+2),
		done:   make(chan struct{}),
	}
	size := sampler.BatchSize()
	for range depth + 2 { // waiting, being filled, and in the caller's hands
		p.free <- &Batch{Rows: make([]int, size), Values: make([]float32, size*vectors.Dim())}
	}
	go p.read(vectors, sampler, first, end)
	return p
}

func (p *Prefetcher) read(vectors *Vectors, sampler *Sampler, first, end int64) {
	defer close(p.done)
	for step := first; ; step++ {
		var item prefetched
		if step >= end {
			item.err = io.EOF
		} else {
			select {
			case item.batch = <-p.free:
			case <-p.ctx.Done():
				return
			}
			item.batch.Step = step
			sampler.Batch(step, item.batch.Rows)
			if err := vectors.Gather(item.batch.Rows, item.batch.Values); err != nil {
				item = prefetched{err: fmt.Errorf("batch of step %d: %w", step, err)}
			}
		}
		select {
		case p.ready <- item:
		case <-p.ctx.Done():
			return
		}
		if item.err != nil {
			return
		}
	}
}

// Next returns the next step's batch, valid until the following Next. After
// the last step it returns io.EOF. A read error arrives at its own step, after
// the batches before it, and is returned from then on; so is the context's
// error once ctx or the Prefetcher's own context has ended.
func (p *Prefetcher) Next(ctx context.Context) (*Batch, error) {
	if p.final != nil {
		return nil, p.final
	}
	if p.held != nil {
		p.free <- p.held
		p.held = nil
	}
	var item prefetched
	select {
	case item = <-p.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.done:
		select { // the goroutine's last words
		case item = <-p.ready:
		default:
			item.err = p.ctx.Err()
		}
	}
	if item.err != nil {
		p.final = item.err
		return nil, item.err
	}
	p.held = item.batch
	return item.batch, nil
}

// Close stops reading and waits until the goroutine has ended.
func (p *Prefetcher) Close() {
	p.cancel()
	<-p.done
}
