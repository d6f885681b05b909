package recommend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/output"
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
	Free    Free   // settings that may be fitted to a machine without a compiling engine
	IDs     string // directory of a table of IDs
	Source  Source
	Seen    Seen   // rule for seen items; empty: the log's own
	Dir     string // of the model
	Resume  bool   // continue an interrupted run
	Force   bool   // replace the model or run in Dir
	Cache   string // directory that gets the ranks of references for Evaluate, if the model is a network; may be empty
	Backend string // see engine.Choose
	Command string // that the manifest records
}

// TrainModel trains a model and stores it in a directory.
func TrainModel(ctx context.Context, o TrainOptions, w task.Watcher) (*Recommender, error) {
	kind := o.Config.Kind()
	if kind.Purpose != o.Source.Purpose {
		return nil, usage.Errorf("a %s model is a %s, which does not learn from %s", kind.Name, kind.Purpose.Title(), o.Source.Name)
	}
	if err := o.checkDir(); err != nil {
		return nil, err
	}
	claim, err := output.Lock(o.Dir)
	if err != nil {
		return nil, err
	}
	defer claim.Release()
	if err := o.checkDir(); err != nil { // another run may have ended meanwhile
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
	d.setSeen(o.Seen)
	if err := d.Trainable(); err != nil {
		return nil, err
	}
	if used := items.Cooccurrence(); used != nil && d.purpose == Recommending && used.Fingerprint != d.Fingerprint {
		w.Remark("note: the IDs in %s were made with another log than these data (%s, or another part of it), which may hold test items; "+
			"make them with this log and the same --core", o.IDs, used.Log)
	}
	backend, err := engine.Choose(o.Backend)
	if err != nil {
		return nil, err
	}
	if err := o.beginDir(); err != nil {
		return nil, err
	}
	w.Remark("scored by: %s", d.protocol())
	if !weights.Compiles(backend) {
		if text := fitToMachine(d, o.Config, o.Free); text != "" {
			w.Remark("%s", text)
		}
	}
	made, err := prepare(ctx, d, o.Config)
	if err != nil {
		return nil, err
	}
	m := made.model
	if made.prior != nil {
		w.Remark("starting from: %s", made.prior.text)
	} else if _, err := textsOf(items); err != nil && kind == searchKind {
		w.Remark("note: there is no BM25 to start from: %v", err)
	}
	if o.Config.Training() != nil {
		w.Remark("training on %s examples: IDs of %d codes, %s", report.Count(d.Examples()), items.Width(), m)
	}
	steps := 0
	if t := o.Config.Training(); t != nil {
		steps = t.Steps
	}
	run := task.WatchTraining(w, steps)
	trained, err := made.train(ctx, backend, train.Options{
		Dir: o.Dir, Resume: o.Resume && !o.Force, Watch: observe(run), Data: d.identity()})
	run.Done()
	if errors.Is(err, train.ErrInterrupted) {
		err = run.Stopped(err)
	}
	if err != nil {
		return nil, err
	}
	defer trained.Ranker.Close()
	if o.Config.Training() == nil {
		w.Remark("fitted in %s: %s", report.Duration(time.Duration(trained.Seconds*float64(time.Second))), m)
	}
	validation, err := Rank(ctx, trained.Ranker, d, ValidationPart, o.Config.Validation().Final, 0, w)
	if err != nil {
		return nil, err
	}
	r := &Recommender{Config: o.Config, Model: m, Weights: trained.Weights, Catalogue: items, Manifest: Manifest{
		Head: artifact.Provenance(version.CreatedBy(), o.Command), Data: o.Source.Name, DataHash: d.Fingerprint,
		Users: d.Users, Queries: d.Queries, Steps: steps, Seconds: trained.Seconds, Protocol: d.protocol(), Validation: validation.Means()}}
	if err := r.Save(o.Dir); err != nil {
		return nil, err
	}
	if err := r.trainPage(ctx, o.Dir, d, trained.Ranker); err != nil {
		return nil, err
	}
	if err := train.RemoveCheckpoints(o.Dir); err != nil {
		return nil, err
	}
	if _, network := m.(Learner); network && o.Cache != "" { // counting takes a small part of the time of training, not of an evaluation
		_, err = References(ctx, d, kind.Depth, o.Cache, w)
	}
	return r, err
}

// modelFiles are the files of a directory that holds a model.
var modelFiles = []string{artifact.ManifestFile, ModelFile, ConfigFile, train.LogFile, catalogue.ItemsFile, catalogue.ReportFile}

// checkDir refuses an output directory that holds an input or something that
// nobody asked to replace.
func (o TrainOptions) checkDir() error {
	title, own := o.Source.Purpose.Title(), filepath.Join(o.Dir, IDsDir)
	if output.Same(o.Dir, o.IDs) || output.Same(own, o.IDs) {
		return usage.Errorf("-o %s would replace the IDs in %s; choose another directory", o.Dir, o.IDs)
	}
	if err := output.RefuseInput(output.Inside(o.Dir, modelFiles...), o.Source.Paths...); err != nil {
		return err
	}
	holds, _, missing := artifact.Identify(o.Dir)
	made := holds != nil && (holds == Recommending.stored || holds == Searching.stored)
	checkpoint := train.HasCheckpoint(o.Dir)
	begun := checkpoint || train.IsLog(filepath.Join(o.Dir, train.LogFile)) // perhaps killed before its first checkpoint
	storing := output.Present(filepath.Join(o.Dir, ConfigFile))             // killed while it was stored
	switch {
	case !made && !begun && storing && output.Present(own):
		if !o.Force {
			return fmt.Errorf("%s holds an unfinished %s; --force starts over", o.Dir, title)
		}
		return nil
	case !made && !begun && output.Present(own):
		return fmt.Errorf("%s exists and is not part of a %s; choose another directory", own, title)
	case !made && !errors.Is(missing, os.ErrNotExist):
		return fmt.Errorf("%s holds something else than a %s; choose another directory", o.Dir, title)
	case o.Force:
		return nil
	case made:
		return fmt.Errorf("%s holds a finished %s; choose another directory, or --force to replace it", o.Dir, title)
	case checkpoint && !o.Resume:
		return fmt.Errorf("%s holds an unfinished run; --resume continues it, --force starts over", o.Dir)
	case begun:
		return nil
	}
	return output.RefuseForeign(o.Dir, title, modelFiles...)
}

// beginDir removes the temporary files of a killed run and, with Force, the model or run
// that is there.
func (o TrainOptions) beginDir() error {
	if err := o.Source.Purpose.stored.Sweep(o.Dir); err != nil || !o.Force {
		return err
	}
	if err := os.Remove(filepath.Join(o.Dir, artifact.ManifestFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return train.RemoveCheckpoints(o.Dir)
}

// observe shows a training run.
func observe(run *task.Training) train.Observer {
	scores := ""
	return train.Observer{Status: run.Status, Step: func(r train.Record) {
		if r.Scores != nil {
			scores = fmt.Sprintf("  validation recall@10 %s NDCG@10 %s",
				report.Number(r.Scores["recall@10"], 4), report.Number(r.Scores["ndcg@10"], 4))
		}
		run.Step(r.Step, "loss "+report.Number(r.Loss, 4)+scores, r.Event)
		if r.Scores != nil {
			run.Log(scores)
		}
	}}
}
