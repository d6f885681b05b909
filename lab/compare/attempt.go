package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/train"
)

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
