// Package compare compares quantizers: it trains every method on the same data with the same bits and budget,
// scores it on held-out items, and turns the scores of several seeds into tables, charts and files.
//
// [Run] is the whole comparison. Its unit of work is a cell: one method with one size of code and one seed. A
// finished cell is kept as a [Record], so that a comparison that was stopped resumes. The [Kind] of the data,
// vectors or pictures, measures cells and lays out their scores; package table averages and ranks them. Methods
// are those registered in package vq.
package compare

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Options describe a comparison. Only Input and Output must be set.
type Options struct {
	Input tokenize.Input
	// Settings apply to all methods, for vectors unless they say pictures. Each method adds its own best practice.
	Settings tokenize.Settings
	Methods  []string  // nil: all that can code the input, unless there are variants
	Variants []Variant // more contenders
	Bits     int       // of the codes of a vector, or of a cell of a picture; 0: as the settings say
	Sweeps   []string  // sizes of code: "codes=256,1024" or "levels=1,2"; every combination
	Seeds    int       // runs of every method, with the seed of the settings and the numbers after it; 0 is 1
	Jobs     int       // runs at a time, sharing the cores; 0 is 1
	Backend  string    // see [engine.Choose]; empty: the embedded engine
	Output   string    // directory of the results
	Command  string    // shown in the report
}

// Variant is a method with other settings than its best practice.
type Variant struct {
	Name   string // in tables
	Method string
	Change func(*vqtrain.Config) // may be nil
}

// DefaultSteps is the training budget of each method.
const DefaultSteps = 1500

// Run compares methods and writes the report. Finished cells are read, half-trained ones resume from their
// checkpoint, and failed ones are tried again. Nothing is written before the input proved usable. A method that
// fails does not end the comparison; see [Results.Err].
func Run(ctx context.Context, o Options, watch task.Watcher) (*Results, error) {
	p, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	if err := checkDirectory(p.Output); err != nil {
		return nil, err
	}
	claim, err := output.Lock(p.Output)
	if err != nil {
		return nil, err
	}
	defer claim.Release()
	data, err := p.Input.Open(ctx, &p.shared, watch)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	s, err := newSubject(data, p.Input, watch)
	if err != nil {
		return nil, err
	}
	item := p.shared.Model.Modality().Item()
	if data.Held.Len() == 0 {
		return nil, usage.Errorf("no %ss are held out to score on; use a --split below 1", item)
	}
	cells, err := p.cells(s)
	if err != nil {
		return nil, err
	}
	r := &runner{subject: s, dir: p.Output, jobs: p.Jobs, watch: watch}
	if r.engine, err = engines(p.Backend); err != nil {
		return nil, err
	}
	watch.Remark("comparing %s on %s of %s, %d held out: %s", report.Counted(len(p.Variants), "method"),
		report.Counted(data.Train.Len(), item), p.Input.Path, data.Held.Len(), report.Counted(len(cells), "run"))
	records, err := r.run(ctx, cells)
	if errors.Is(err, train.ErrInterrupted) {
		return nil, fmt.Errorf("%w after %d of %d runs; repeat the command to continue", err, r.finished, len(cells))
	}
	if err != nil {
		return nil, err
	}
	results := &Results{Kind: s.kind, Methods: s.kind.Summarize(records), Data: s.describe(p.Input), Settings: p.settings(s),
		Command: p.Command, CreatedBy: version.CreatedBy(), Created: time.Now().UTC().Truncate(time.Second)}
	return results, results.write(p.Output)
}

func checkDirectory(dir string) error {
	exists := func(name string) bool { return output.Present(filepath.Join(dir, name)) }
	if exists(artifact.ManifestFile) || exists(train.CheckpointFile) {
		return fmt.Errorf("%s holds a tokenizer; choose another directory with -o", dir)
	}
	for _, name := range []string{PageFile, SheetFile, ResultsFile} {
		if exists(name) && !exists(cellsDir) {
			return fmt.Errorf("%s exists and is not part of a comparison; choose another directory with -o", filepath.Join(dir, name))
		}
	}
	return nil
}
