package prior

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/artifact"
	programversion "github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/train"
)

// run is a training run into a directory.
type run struct {
	TrainOptions
	config Config
	small  bool // the network has the default size for a few cores
	source *opened
	data   *Dataset
	watch  task.Watcher
}

func (r *run) train(ctx context.Context, backend compute.Backend) (*Prior, error) {
	d := r.data
	reference, err := fitReference(ctx, d.Layout, d.Train, d.Height, d.Width, d.vectors)
	if err != nil {
		return nil, err
	}
	shown := task.WatchTraining(r.watch, r.config.Train.Steps)
	r.started()
	fingerprint := d.Fingerprint() + r.source.tokenizerSum()
	trained, err := Train(ctx, backend, d, r.config, train.Options{
		Dir: r.Dir, Resume: r.Resume && !r.Force, Data: fingerprint, Watch: observe(shown)})
	shown.Done()
	if errors.Is(err, train.ErrInterrupted) {
		err = shown.Stopped(err)
	}
	if err != nil {
		return nil, err
	}
	defer trained.Scorer.Close()
	p := &Prior{Config: r.config, Model: trained.Model, Weights: trained.Weights, Reference: reference, Manifest: Manifest{
		Head: artifact.Provenance(programversion.CreatedBy(), r.Command), Height: d.Height, Width: d.Width, Pixels: d.Pixels,
		Classes: d.Classes, Tokenizer: r.source.tokenizerSum(),
		Data:     Data{Name: d.Name, Fingerprint: d.Fingerprint(), TrainRows: d.Train.Len(), ValidationRows: d.Validation.Len()},
		Training: Training{Steps: r.config.Train.Steps, Seconds: trained.Seconds, Backend: r.Backend}}}
	if d.Validation.Len() > 0 {
		if p.Manifest.Validation, err = p.score(ctx, trained.Scorer, d.Validation, nil); err != nil {
			return nil, err
		}
	}
	if err := r.store(p); err != nil {
		return nil, err
	}
	return p, nil
}

// store writes the report and the prior, and removes what only training needs.
func (r *run) store(p *Prior) error {
	page, err := r.page(p)
	if err != nil {
		return err
	}
	if err := page.WriteFile(filepath.Join(r.Dir, ReportFile)); err != nil {
		return err
	}
	if err := p.Save(r.Dir, r.Source.Tokenizer); err != nil {
		return err
	}
	return removeWork(r.Dir)
}

// removeWork removes what only an unfinished run needs.
func removeWork(dir string) error {
	if err := os.Remove(filepath.Join(dir, CodesFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the codes of the run: %w", err)
	}
	return train.RemoveCheckpoints(dir)
}

// started describes the run.
func (r *run) started() {
	held := ""
	if n := r.data.Validation.Len(); n > 0 {
		held = fmt.Sprintf(", %s for validation", report.Count(n))
	}
	r.watch.Remark("training on %s of %s codes from %s%s: %d layers of width %d, %d heads", report.Counted(r.data.Train.Len(), "row"),
		report.Count(r.data.Layout.Tokens()), r.data.Name, held, r.config.Model.Layers, r.config.Model.Width, r.config.Model.Heads)
	if r.small {
		r.watch.Remark("note: this size is the default for a few cores; on a GPU (--backend xla) it is 12 layers of width 512")
	}
}

// observe shows a training run.
func observe(shown *task.Training) train.Observer {
	scores := ""
	return train.Observer{Status: shown.Status, Step: func(r train.Record) {
		if r.Scores != nil {
			scores = fmt.Sprintf("  validation %s bits a token", report.Number(r.Scores["bits_per_token"], 4))
		}
		shown.Step(r.Step, fmt.Sprintf("loss %s bits%s", report.Number(r.Loss/math.Ln2, 4), scores), r.Event)
		if r.Scores != nil {
			shown.Log(scores)
		}
	}}
}
