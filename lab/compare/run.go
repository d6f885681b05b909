package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
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

// engines returns a function that starts the engine of a cell. The embedded engine starts anew for every cell,
// so that its memory is returned; others hold a device and are shared.
func engines(name string) (func() (compute.Backend, func(), error), error) {
	shared, err := engine.Choose(name)
	if err != nil {
		return nil, err
	}
	if name != engine.Embedded {
		return func() (compute.Backend, func(), error) { return shared, func() {}, nil }, nil
	}
	shared.Finalize()
	return func() (compute.Backend, func(), error) {
		backend, err := engine.Choose(name)
		if err != nil {
			return nil, nil, err
		}
		return backend, backend.Finalize, nil
	}, nil
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

// attempt fails only if no further cell can run: interrupted, or the record cannot be written.
func (r *runner) attempt(ctx context.Context, cell Cell) (Record, error) {
	record, err := r.guarded(ctx, cell)
	if err != nil && (ctx.Err() != nil || errors.Is(err, train.ErrInterrupted)) {
		return Record{}, train.ErrInterrupted
	}
	if err != nil {
		record = cell.failed(reason(err))
	}
	if err := record.store(r.dir); err != nil {
		return Record{}, err
	}
	return record, r.clean(cell)
}

// guarded measures a cell; graph code reports misuse by panics.
func (r *runner) guarded(ctx context.Context, cell Cell) (record Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal failure: %v", p)
		}
	}()
	return r.measure(ctx, cell)
}

func (r *runner) workDir(cell Cell) string { return filepath.Join(r.dir, workDir, cell.ID) }

func (r *runner) clean(cell Cell) error {
	if err := os.RemoveAll(r.workDir(cell)); err != nil {
		return fmt.Errorf("cleaning up after a cell: %w", err)
	}
	return nil
}

type progress struct {
	mu       sync.Mutex
	line     task.Line
	begun    time.Time
	share    map[string]int // work of every cell
	behind   map[string]int // of it, done
	done     int            // work of all cells
	total    int
	known    int // work of earlier sessions
	runs     int
	finished int // runs
}

// classicalShare is roughly the ratio of training to fitting time; it only serves the ETA.
const classicalShare = 6

func (r *runner) start(cells []Cell) {
	steps := 0
	for _, cell := range cells {
		steps = max(steps, cell.Config.Train.Steps)
	}
	r.progress = progress{begun: time.Now(), share: map[string]int{}, behind: map[string]int{}, runs: len(cells)}
	for _, cell := range cells {
		if cell.Err != nil {
			continue
		}
		r.share[cell.ID] = cell.Config.Train.Steps
		if cell.classical() {
			r.share[cell.ID] = max(1, steps/classicalShare)
		}
		r.total += r.share[cell.ID]
	}
	r.line = r.watch.Line(r.total, "")
}

func (r *runner) step(cell Cell, step int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(cell, r.share[cell.ID]*step/cell.Config.Train.Steps)
}

func (r *runner) advance(cell Cell, work int) {
	r.done += work - r.behind[cell.ID]
	r.behind[cell.ID] = work
	r.line.Update(int64(r.done), fmt.Sprintf("run %d of %d: %s", min(r.finished+1, r.runs), r.runs, cell))
}

// finish notes the end of a cell; known cells are of earlier sessions.
func (r *runner) finish(cell Cell, record Record, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(cell, r.share[cell.ID])
	r.finished++
	if known {
		r.known = r.done // later work has this session's speed
		return
	}
	text := "failed: " + record.Error
	if record.Error == "" {
		text = fmt.Sprintf("%s, trained in %s", r.subject.kind.brief(record), table.Seconds(record.Scores["train_seconds"]))
	}
	if left := r.left(); left > 0 {
		text += ", ETA " + report.Duration(left)
	}
	r.watch.Remark("%d/%d  %s: %s", r.finished, r.runs, cell, text)
}

func (r *runner) left() time.Duration {
	worked := r.done - r.known
	if worked <= 0 || r.total <= r.done {
		return 0
	}
	return (time.Since(r.begun) * time.Duration(r.total-r.done) / time.Duration(worked)).Round(time.Second)
}
