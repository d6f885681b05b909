package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/data"
	"github.com/gritvq/gritvq/exp"
	"github.com/gritvq/gritvq/fit"
)

// runCompare compares quantizers and writes the report. Nothing is written
// before the input proved usable.
func runCompare(ctx context.Context, s *streams, o compareOptions) error {
	plan, err := o.plan()
	if err != nil {
		return err
	}
	if o.workers > 0 {
		runtime.GOMAXPROCS(o.workers)
	}
	v, dropped, err := openVectors(ctx, s, o.input, o.drop)
	if err != nil {
		return err
	}
	defer v.Close()
	stats, err := scan(ctx, s, v)
	if err != nil {
		return err
	}
	train, held := data.Split(v.Len(), 1-plan.shared.Train.Split, plan.shared.Seed)
	if held.Len() == 0 {
		return usagef("no rows are held out to score on; use a --split below 1")
	}
	cells, err := plan.cells(&o.settings, stats.Fingerprint, v.Dim())
	if err != nil {
		return err
	}
	engine, err := cellEngines(o.backend)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.output, 0o755); err != nil {
		return fmt.Errorf("cannot create %s: %w", o.output, err)
	}
	s.remark("comparing %d methods on %d rows of %s, %d held out: %d runs", len(plan.methods), train.Len(), o.input, held.Len(), len(cells))
	watch := newCompareProgress(s, len(cells))
	comparison := &exp.Comparison{Vectors: v, Stats: stats, Dir: o.output, Jobs: o.jobs, Engine: engine, Watch: exp.Watcher{Step: watch.step, Cell: watch.cell}}
	records, err := comparison.Run(ctx, cells)
	watch.done()
	if errors.Is(err, fit.ErrInterrupted) {
		return fmt.Errorf("%w after %d of %d runs; repeat the command to continue", err, watch.finished, len(cells))
	}
	if err != nil {
		return err
	}
	summaries, err := exp.Summarize(records)
	if err != nil {
		return err
	}
	results := &exp.Results{
		Methods: summaries, Command: s.command, CreatedBy: "gritvq " + version(), Created: time.Now().UTC().Truncate(time.Second),
		Data: exp.Data{Name: baseName(o.input), Fingerprint: stats.Fingerprint, Rows: v.Len(), Dim: v.Dim(), TrainRows: train.Len(), HeldRows: held.Len(), Dropped: dropped},
		Settings: exp.Settings{Methods: plan.methods, Points: plan.points, Seeds: plan.seeds, Preset: o.settings.preset, Steps: plan.shared.Train.Steps, Batch: plan.shared.Train.Batch,
			Split: plan.shared.Train.Split, Network: networkWidths(plan.shared, v.Dim()), Backend: o.backend, Jobs: o.jobs},
	}
	if err := results.Write(o.output); err != nil {
		return err
	}
	if err := showCompared(s, o, results); err != nil {
		return err
	}
	for _, m := range summaries {
		if m.Error == "" {
			return nil
		}
	}
	return fmt.Errorf("every method failed, %s with: %s", summaries[0].Method, summaries[0].Error)
}

// networkWidths are the widths from the vectors to the latents; one where there
// is no network.
func networkWidths(c fit.Config, input int) []int {
	widths := append([]int{input}, c.Model.Hidden...)
	if c.Model.Dim != 0 && (c.Model.Dim != input || len(widths) > 1) {
		widths = append(widths, c.Model.Dim)
	} else if len(widths) > 1 {
		widths = append(widths, input)
	}
	return widths
}

// cellEngines returns what starts the engine of a run. The built-in engine
// starts afresh for every run, so that its memory is returned; others, which
// hold a device, are shared.
func cellEngines(name string) (func() (compute.Backend, func(), error), error) {
	shared, err := openEngine(name)
	if err != nil {
		return nil, err
	}
	if name != "go" {
		return func() (compute.Backend, func(), error) { return shared, func() {}, nil }, nil
	}
	shared.Finalize()
	return func() (compute.Backend, func(), error) {
		backend, err := openEngine(name)
		if err != nil {
			return nil, nil, err
		}
		return backend, backend.Finalize, nil
	}, nil
}
