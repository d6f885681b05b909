package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Comparison runs cells on one task. Its directory holds a file for every
// finished cell (cells/<id>.json) and, while one is trained, its checkpoint
// (work/<id>).
type Comparison struct {
	Task Task
	Dir  string // must exist
	Jobs int    // cells run at once, sharing the cores; 0 means 1
	// Engine starts the engine of a cell; release is called when the cell is
	// done.
	Engine func() (backend compute.Backend, release func(), err error)
	Watch  Watcher

	progress sync.Mutex
	share    map[string]int // of the work, by cell
	behind   map[string]int // of that share
	done     int            // work of all cells
	total    int

	// measure makes the record of a cell; tests replace it.
	measure func(ctx context.Context, cell Cell) (Record, error)
}

// Watcher is told how a comparison goes. Calls do not overlap; any field may be
// nil.
type Watcher struct {
	// Step says how much of the work of all cells is done, in training steps.
	Step func(cell Cell, done, total int)
	// Cell is called with every record; known are those of earlier runs.
	Cell func(cell Cell, r Record, known bool)
}

// Run returns the records of all cells, in their order. Cells that finished
// earlier are read, half-trained ones go on from their checkpoint, and those
// that failed are tried again. A cell that fails or panics becomes a record with
// its error and the rest goes on. Run fails when a record cannot be read or
// written, and with [fit.ErrInterrupted] when ctx ends; what was done is kept.
func (c *Comparison) Run(ctx context.Context, cells []Cell) ([]Record, error) {
	if err := os.MkdirAll(filepath.Join(c.Dir, "cells"), 0o755); err != nil {
		return nil, fmt.Errorf("cannot create %s: %w", c.Dir, err)
	}
	if c.measure == nil {
		c.measure = c.train
	}
	records := make([]Record, len(cells))
	c.shares(cells)
	var open []int
	for i, cell := range cells {
		r, known, err := loadRecord(c.Dir, cell.ID)
		if err != nil {
			return nil, err
		}
		switch {
		case cell.Err != nil:
			records[i] = cell.failed(reason(cell.Err))
		case known:
			// Product quantizers may have got the same codes from another point.
			r.Point = cell.Point
			records[i] = r
			// A kill may have come between the record and the end of the work.
			if err := os.RemoveAll(c.workDir(cell)); err != nil {
				return nil, fmt.Errorf("cleaning up after a cell: %w", err)
			}
		default:
			open = append(open, i)
			continue
		}
		c.finish(cell, records[i], known && cell.Err == nil)
	}
	err := c.runOpen(ctx, cells, open, records)
	os.Remove(filepath.Join(c.Dir, "work")) // only if empty
	return records, err
}

// runOpen runs the cells that are left, a few at a time.
func (c *Comparison) runOpen(ctx context.Context, cells []Cell, open []int, records []Record) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(max(1, c.Jobs), len(open)) {
		workers.Go(func() {
			for i := range next {
				r, err := c.attempt(ctx, cells[i])
				if err != nil {
					stop(err)
					continue
				}
				records[i] = r
				c.finish(cells[i], r, false)
			}
		})
	}
	for _, i := range open {
		if ctx.Err() != nil {
			break
		}
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return vqtrain.ErrInterrupted
}

// attempt runs a cell and stores its record. Only what concerns all cells is an
// error: an interruption, or a record that cannot be written.
func (c *Comparison) attempt(ctx context.Context, cell Cell) (Record, error) {
	r, err := c.guarded(ctx, cell)
	if err != nil && (ctx.Err() != nil || errors.Is(err, vqtrain.ErrInterrupted)) {
		return Record{}, vqtrain.ErrInterrupted
	}
	if err != nil {
		r = cell.failed(reason(err))
	}
	if err := r.store(c.Dir); err != nil {
		return Record{}, err
	}
	if err := os.RemoveAll(c.workDir(cell)); err != nil {
		return Record{}, fmt.Errorf("cleaning up after a cell: %w", err)
	}
	return r, nil
}

// guarded measures a cell; graph code reports misuse by panics.
func (c *Comparison) guarded(ctx context.Context, cell Cell) (r Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal failure: %v", p)
		}
	}()
	return c.measure(ctx, cell)
}

// shares divides the cost of the comparison among its cells.
func (c *Comparison) shares(cells []Cell) {
	steps := 0
	for _, cell := range cells {
		steps = max(steps, cell.Config.Train.Steps)
	}
	c.share, c.behind, c.done, c.total = map[string]int{}, map[string]int{}, 0, 0
	for _, cell := range cells {
		if cell.Err == nil {
			c.share[cell.ID] = cell.work(steps)
			c.total += c.share[cell.ID]
		}
	}
}

// step notes the progress of a running cell.
func (c *Comparison) step(cell Cell, step int) {
	c.progress.Lock()
	defer c.progress.Unlock()
	c.advance(cell, c.share[cell.ID]*step/cell.Config.Train.Steps)
	if c.Watch.Step != nil {
		c.Watch.Step(cell, c.done, c.total)
	}
}

// finish notes the end of a cell.
func (c *Comparison) finish(cell Cell, r Record, known bool) {
	c.progress.Lock()
	defer c.progress.Unlock()
	c.advance(cell, c.share[cell.ID])
	if c.Watch.Step != nil {
		c.Watch.Step(cell, c.done, c.total)
	}
	if c.Watch.Cell != nil {
		c.Watch.Cell(cell, r, known)
	}
}

// advance sets how much of a cell's share is behind.
func (c *Comparison) advance(cell Cell, work int) {
	c.done += work - c.behind[cell.ID]
	c.behind[cell.ID] = work
}
