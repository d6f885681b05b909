// Package tokenize trains tokenizers into a directory with a report, encodes, decodes, scores and inspects.
package tokenize

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/weights"
)

// TrainOptions describe a training run.
type TrainOptions struct {
	Config   vqtrain.Config
	Input    Input
	Output   string // directory of the tokenizer
	Codebook string // array of codes to start from; may be empty
	Init     string // codes of another program to start from, such as "faiss:index.faiss"; may be empty
	From     *From  // tokenizer to start from; may be nil
	Backend  string // see [engine.Choose]
	Resume   bool   // continue an interrupted run; a finished run is returned
	Force    bool   // replace the tokenizer in the directory
	Command  string // recorded in manifest and report
	// Reference measures a classical method on the held-out items: residual k-means of vectors, k-means of patches.
	Reference bool
	// TensorBoard is a directory for events of the run; may be empty.
	TensorBoard string
}

type training struct {
	TrainOptions
	watch       task.Watcher
	data        *Data
	fingerprint string           // of data and imported codebook
	codes       []*weights.Array // imported codebook
	backend     compute.Backend
	resume      bool
	events      *events
}

// Train trains a tokenizer and writes its bundle and report. It checks the input before it touches the directory.
func Train(ctx context.Context, o TrainOptions, watch task.Watcher) (*Trained, error) {
	if _, err := o.checkOutput(); err != nil {
		return nil, err
	}
	claim, err := output.Lock(o.Output)
	if err != nil {
		return nil, err
	}
	defer claim.Release()
	state, err := o.checkOutput() // another run may have ended meanwhile
	if err != nil {
		return nil, err
	}
	t := &training{TrainOptions: o, watch: watch, resume: o.Resume && !o.Force}
	if t.data, err = o.Input.Open(ctx, &t.Config, watch); err != nil {
		return nil, err
	}
	defer t.data.Close()
	if err := t.startFrom(); err != nil {
		return nil, err
	}
	if state == artifact.Finished && t.resume {
		return t.finished()
	}
	if _, err := t.Config.Tokenizer(t.data.Set.Input()); err != nil {
		return nil, usage.Error{Err: &UnsuitedError{t.Config.Quantizer.Method, err}}
	}
	if err := t.importCodes(ctx); err != nil {
		return nil, err
	}
	if t.backend, err = engine.Choose(o.Backend); err != nil {
		return nil, err
	}
	discard, err := begin(o.Output, o.Force)
	if err != nil {
		return nil, err
	}
	if t.events, err = openEvents(o.TensorBoard); err != nil {
		discard()
		return nil, err
	}
	defer t.events.close()
	t.started()
	result, err := t.run(ctx)
	if err != nil {
		if !errors.Is(err, train.ErrInterrupted) {
			discard()
		}
		return nil, err
	}
	b, err := t.store(ctx, result)
	if err != nil {
		discard()
		return nil, err
	}
	t.events.finish(ctx, t, b, result)
	return trained(o.Output, b), nil
}

func trained(dir string, b *bundle.Bundle) *Trained {
	return &Trained{Dir: dir, Bundle: b, Report: filepath.Join(dir, bundle.ReportFile)}
}

// checkOutput refuses a directory whose content nobody asked to replace.
func (o TrainOptions) checkOutput() (artifact.State, error) {
	state, err := bundle.Kind.Output(o.Output)
	if err != nil || o.Force {
		return state, err
	}
	switch {
	case state == artifact.Finished && !o.Resume:
		return state, fmt.Errorf("%s holds a finished tokenizer; choose another directory, or --force to replace it", o.Output)
	case state == artifact.Unfinished && !o.Resume:
		return state, fmt.Errorf("%s holds an unfinished run; --resume continues it, --force starts over", o.Output)
	case state == artifact.Absent:
		return state, output.RefuseForeign(o.Output, "tokenizer", bundle.ConfigFile, bundle.AliasFile, bundle.CardFile, bundle.ReportFile)
	}
	return state, nil
}

// begin prepares the output directory. discard undoes it after a failure, unless there is a checkpoint to resume from.
func begin(dir string, force bool) (discard func(), err error) {
	discard = func() { // errors here would add nothing to the one being reported
		if train.HasCheckpoint(dir) || output.Present(filepath.Join(dir, bundle.ChoiceFile)) {
			_ = bundle.Kind.Sweep(dir)
		} else {
			_ = bundle.Clear(dir)
		}
	}
	if force {
		return discard, bundle.Clear(dir)
	}
	return discard, bundle.Kind.Sweep(dir)
}

// finished returns a run that is already complete, if it has the same settings and data.
func (t *training) finished() (*Trained, error) {
	b, err := bundle.Load(t.Output)
	if err != nil {
		return nil, fmt.Errorf("%w; --force starts over", err)
	}
	c, err := vqtrain.ReadConfig(b.Config)
	if err != nil {
		return nil, err
	}
	if c, err = c.Unchosen(t.Config); err != nil {
		return nil, err
	}
	other := ""
	switch {
	case !reflect.DeepEqual(c, t.Config):
		other = "settings"
	case b.Manifest.Data.Fingerprint != t.fingerprint:
		other = "data"
	}
	if other != "" {
		return nil, fmt.Errorf("%s was finished with other %s; choose another directory, or --force to replace it", t.Output, other)
	}
	t.watch.Remark("%s is already finished", t.Output)
	return trained(t.Output, b), removeWork(t.Output) // a kill may have left some
}

func (t *training) started() {
	t.watch.Remark("training %s on %s of %s, %d held out", t.Config.Spec.Describe(t.data.Set.Input()),
		report.Counted(t.data.Train.Len(), t.Config.Model.Modality().Item()), t.Input.Path, t.data.Held.Len())
}

func (t *training) manifest(result *outcome) bundle.Manifest {
	m := result.Runtime.Tokenizer()
	return bundle.Manifest{
		Head: artifact.Provenance(version.CreatedBy(), t.Command), Data: t.describeData(),
		Training: bundle.Training{Steps: result.Steps, Resumed: result.First, Seconds: result.duration.Seconds(), Backend: t.Backend,
			Choice: result.Choice},
		Input: m.Input, Layout: m.Quantizer.Layout(), Metrics: result.metrics, Parent: t.From.parent(),
	}
}

func (t *training) describeData() bundle.Data {
	d := bundle.Data{Name: dataset.Name(t.Input.Path), Fingerprint: t.fingerprint, Rows: t.data.Set.Len(),
		TrainRows: t.data.Train.Len(), HeldRows: t.data.Held.Len(), Dropped: t.data.Dropped}
	if t.Input.Held != "" {
		d.Held = dataset.Name(t.Input.Held)
	}
	return d
}
