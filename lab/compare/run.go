package compare

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/train"
)

const (
	cellsDir = "cells" // a file for every finished cell
	workDir  = "work"  // checkpoints of cells that are trained
)

type runner struct {
	subject *subject
	dir     string
	jobs    int
	// engine starts the engine of a cell; release is called when the cell is done.
	engine func() (backend compute.Backend, release func(), err error)
	watch  task.Watcher
	// measure makes the record of a cell; tests replace it.
	measure func(ctx context.Context, cell Cell) (Record, error)
	progress
}

// run returns the records of all cells, in their order. A cell that fails or panics becomes a record with its
// error. run fails if a record cannot be read or written, and with [train.ErrInterrupted] when ctx ends.
func (r *runner) run(ctx context.Context, cells []Cell) ([]Record, error) {
	if err := output.MakeDir(filepath.Join(r.dir, cellsDir)); err != nil {
		return nil, err
	}
	if r.measure == nil {
		r.measure = r.train
	}
	records := make([]Record, len(cells))
	r.start(cells)
	defer r.line.Done()
	var open []int
	for i, cell := range cells {
		record, known, err := loadRecord(r.dir, cell.ID)
		if err != nil {
			return nil, err
		}
		switch {
		case cell.Err != nil:
			records[i], known = cell.failed(reason(cell.Err)), false
		case known:
			// Product quantizers may have the same codes at another point.
			record.Point = cell.Point
			records[i] = record
			// A kill may have come between the record and the end of the work.
			if err := r.clean(cell); err != nil {
				return nil, err
			}
		default:
			open = append(open, i)
			continue
		}
		r.finish(cell, records[i], known)
	}
	err := r.runOpen(ctx, cells, open, records)
	os.Remove(filepath.Join(r.dir, workDir)) // only if empty
	return records, err
}

func (r *runner) runOpen(ctx context.Context, cells []Cell, open []int, records []Record) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	slots := make(chan struct{}, max(1, r.jobs))
	for _, i := range open {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			record, err := r.attempt(ctx, cells[i])
			if err != nil {
				stop(err)
				return
			}
			records[i] = record
			r.finish(cells[i], record, false)
		})
	}
	running.Wait()
	if cause := context.Cause(ctx); cause == nil || !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return train.ErrInterrupted
}
