package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/tokenize"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/lab/compare"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// runCompare compares quantizers and writes the report. Nothing is written
// before the input proved usable.
func runCompare(ctx context.Context, s *cli.Streams, o compareOptions) error {
	plan, err := o.plan()
	if err != nil {
		return err
	}
	if err := engine.UseWorkers(o.workers); err != nil {
		return err
	}
	if err := checkCompareDirectory(o.output); err != nil {
		return err
	}
	subject, err := o.open(ctx, s, &plan)
	if err != nil {
		return err
	}
	defer subject.close()
	if subject.HeldRows == 0 {
		return usage.Errorf("no %ss are held out to score on; use a --split below 1", tokenize.ItemName(plan.shared.Spec))
	}
	cells, err := plan.cells(subject.task.Fingerprint(), subject.input)
	if err != nil {
		return err
	}
	engine, err := cellEngines(o.backend)
	if err != nil {
		return err
	}
	if err := output.MakeDir(o.output); err != nil {
		return err
	}
	s.Remark("comparing %s on %s of %s, %d held out: %s", report.Counted(len(plan.methods), "method"), report.Counted(subject.TrainRows, tokenize.ItemName(plan.shared.Spec)), o.input, subject.HeldRows, report.Counted(len(cells), "run"))
	kind := subject.task.Kind()
	watch := newCompareProgress(s, kind, len(cells))
	comparison := &compare.Comparison{Task: subject.task, Dir: o.output, Jobs: o.jobs, Engine: engine, Watch: compare.Watcher{Step: watch.step, Cell: watch.cell}}
	records, err := comparison.Run(ctx, cells)
	watch.done()
	if errors.Is(err, vqtrain.ErrInterrupted) {
		return fmt.Errorf("%w after %d of %d runs; repeat the command to continue", err, watch.finished, len(cells))
	}
	if err != nil {
		return err
	}
	summaries := kind.Summarize(records)
	results := &compare.Results{
		Kind: kind, Methods: summaries, Command: s.Command, CreatedBy: version.CreatedBy(), Created: time.Now().UTC().Truncate(time.Second), Data: subject.Data,
		Settings: compare.Settings{Methods: plan.methods, Points: plan.points, Seeds: plan.seeds, Preset: plan.settings.Preset, Steps: plan.shared.Train.Steps, Batch: plan.shared.Train.Batch,
			Split: plan.shared.Train.Split, Network: networkWidths(plan.shared, subject.input), Metrics: subject.metrics, Backend: o.backend, Jobs: o.jobs},
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

// checkCompareDirectory refuses a directory whose files are not a comparison's,
// rather than to replace some of them.
func checkCompareDirectory(dir string) error {
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	if exists(artifact.ManifestFile) || exists(vqtrain.CheckpointFile) {
		return fmt.Errorf("%s holds a tokenizer; choose another directory with -o", dir)
	}
	for _, name := range []string{"index.html", "results.csv", "results.json"} {
		if exists(name) && !exists("cells") {
			return fmt.Errorf("%s is there already and no comparison's; choose another directory with -o", filepath.Join(dir, name))
		}
	}
	return nil
}

// networkWidths are the widths from the input to the latents; one where there is
// no network.
func networkWidths(c vqtrain.Config, input int) []int {
	if c.Model.Pictures() {
		return append(slices.Clone(c.Model.Image.Widths), c.Model.Dim)
	}
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
	shared, err := engine.Choose(name)
	if err != nil {
		return nil, err
	}
	if name != "go" {
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
