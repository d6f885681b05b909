package recommend

import (
	"context"
	"errors"
	"fmt"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// TrainOptions say how a model is trained into a directory.
type TrainOptions struct {
	Config  Config
	IDs     string // directory of a table of IDs
	Source  Source
	Dir     string // of the model
	Resume  bool   // continue an interrupted run
	Force   bool   // replace the model or run in Dir
	Backend string // see engine.Choose
	Command string // that the manifest records
}

// TrainModel trains a model and stores it in a directory.
func TrainModel(ctx context.Context, o TrainOptions, w task.Watcher) (*Recommender, error) {
	kind := o.Config.Kind()
	if kind.Purpose != o.Source.Purpose() {
		return nil, usage.Errorf("a %s model is a %s, which does not learn from %s", kind.Name, kind.Purpose.Title(), o.Source)
	}
	if err := o.checkDir(); err != nil {
		return nil, err
	}
	items, err := catalogue.Open(ctx, o.IDs)
	if err != nil {
		return nil, err
	}
	d, err := o.Source.Open(ctx, items, w)
	if err != nil {
		return nil, err
	}
	if err := d.Trainable(); err != nil {
		return nil, err
	}
	backend, err := engine.Choose(o.Backend)
	if err != nil {
		return nil, err
	}
	if err := o.claimDir(); err != nil {
		return nil, err
	}
	m, err := o.Config.New(items.Vocab())
	if err != nil {
		return nil, err
	}
	w.Remark("training on %s examples: IDs of %d codes, %s", report.Count(d.Examples()), items.Width(), m)
	if !weights.Compiles(backend) && o.Config.Training() != nil && leftAlone(o.Config) {
		w.Remark("note: the default network and budget are made for a GPU and take hours here; %s --help has sizes for a few cores",
			kind.Purpose.stored.Command)
	}
	watch := newProgress(w, o.Config)
	trained, err := Train(ctx, backend, d, o.Config, train.Options{
		Dir: o.Dir, Resume: o.Resume && !o.Force, Watch: watch.observer(), Data: d.identity()})
	watch.Done()
	if err != nil {
		return nil, watch.stopped(err)
	}
	defer trained.Ranker.Close()
	validation, err := Rank(ctx, trained.Ranker, d, ValidationPart, o.Config.Validation().Final, 0, w)
	if err != nil {
		return nil, err
	}
	r := &Recommender{Config: o.Config, Model: m, Weights: trained.Weights, Catalogue: items, Manifest: Manifest{
		Head: artifact.Provenance(version.CreatedBy(), o.Command), Data: o.Source.String(), DataHash: d.Fingerprint(),
		Users: d.Users, Queries: d.Queries, Steps: watch.steps, Seconds: trained.Seconds, Validation: validation.Means()}}
	if err := r.Save(o.Dir); err != nil {
		return nil, err
	}
	return r, train.RemoveCheckpoints(o.Dir)
}

// progress shows a training run.
type progress struct {
	*task.Training
	watch  task.Watcher
	steps  int
	begun  bool
	scores string
}

func newProgress(w task.Watcher, c Config) *progress {
	steps := 0
	if t := c.Training(); t != nil {
		steps = t.Steps
	}
	return &progress{Training: task.WatchTraining(w, steps), watch: w, steps: steps}
}

func (p *progress) observer() train.Observer { return train.Observer{Step: p.step, Status: p.Status} }

func (p *progress) step(r train.Record) {
	if !p.begun && r.Step > 1 {
		p.watch.Remark("continuing after step %d of %d", r.Step-1, p.steps)
	}
	p.begun = true
	if r.Scores != nil {
		p.scores = fmt.Sprintf("  validation recall@10 %s NDCG@10 %s",
			report.Number(r.Scores["recall@10"], 4), report.Number(r.Scores["ndcg@10"], 4))
	}
	p.Step(r.Step, "loss "+report.Number(r.Loss, 4)+p.scores, r.Event)
	if r.Scores != nil {
		p.Log(p.scores)
	}
}

// stopped explains the error of an interrupted run.
func (p *progress) stopped(err error) error {
	if !errors.Is(err, train.ErrInterrupted) {
		return err
	}
	return p.Stopped(err)
}
