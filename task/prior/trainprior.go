package prior

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// TrainOptions say how a prior is trained into a directory.
type TrainOptions struct {
	Settings Settings
	Source   Source
	Dir      string // of the prior
	Resume   bool   // continue an interrupted run; a finished one is returned
	Force    bool   // replace the prior or run in Dir
	Backend  string // see engine.Choose
	Command  string // that the manifest records
}

// TrainPrior trains a prior and stores it in a directory with a report. It checks the
// input before it touches the directory.
func TrainPrior(ctx context.Context, o TrainOptions, w task.Watcher) (*Prior, error) {
	if _, err := o.checkDir(); err != nil {
		return nil, err
	}
	claim, err := output.Lock(o.Dir)
	if err != nil {
		return nil, err
	}
	defer claim.Release()
	state, err := o.checkDir() // another run may have ended meanwhile
	if err != nil {
		return nil, err
	}
	backend, err := engine.Choose(o.Backend)
	if err != nil {
		return nil, err
	}
	c, err := o.Settings.Config(weights.Compiles(backend))
	if err != nil {
		return nil, err
	}
	source, err := o.Source.open(ctx, w)
	if err != nil {
		return nil, err
	}
	defer source.close()
	if state == artifact.Finished && o.Resume && !o.Force {
		return o.finished(c, w)
	}
	discard, err := o.beginDir()
	if err != nil {
		return nil, err
	}
	d, err := source.dataset(ctx, backend, c, filepath.Join(o.Dir, CodesFile), w)
	if err != nil {
		if ctx.Err() != nil { // the codes so far are kept
			return nil, fmt.Errorf("%w while pictures were encoded; repeat the command with --resume to continue", train.ErrInterrupted)
		}
		discard()
		return nil, err
	}
	r := &run{TrainOptions: o, config: c, small: !weights.Compiles(backend) && !o.Settings.Sized(), source: source, data: d, watch: w}
	p, err := r.train(ctx, backend)
	if err != nil && !errors.Is(err, train.ErrInterrupted) && ctx.Err() == nil {
		discard()
	}
	return p, err
}

// checkDir refuses an output directory that holds an input or something that nobody
// asked to replace.
func (o TrainOptions) checkDir() (artifact.State, error) {
	own := filepath.Join(o.Dir, TokenizerDir)
	if o.Source.Tokenizer != "" && (output.Same(o.Dir, o.Source.Tokenizer) || output.Same(own, o.Source.Tokenizer)) {
		return 0, usage.Errorf("-o %s would replace the tokenizer in %s; choose another directory", o.Dir, o.Source.Tokenizer)
	}
	files := append([]string{artifact.ManifestFile, train.CheckpointFile}, append(Kind.Files, Kind.Extra...)...)
	if err := output.RefuseInput(output.Inside(o.Dir, files...), o.Source.paths()...); err != nil {
		return 0, err
	}
	state, err := Kind.Output(o.Dir)
	if err != nil {
		return state, err
	}
	switch {
	case state == artifact.Absent && output.Present(own):
		return state, fmt.Errorf("%s exists and is not part of a prior; choose another directory", own)
	case o.Force:
		return state, nil
	case state == artifact.Finished && !o.Resume:
		return state, fmt.Errorf("%s holds a finished prior; choose another directory, or --force to replace it", o.Dir)
	case state == artifact.Unfinished && !o.Resume:
		return state, fmt.Errorf("%s holds an unfinished run; --resume continues it, --force starts over", o.Dir)
	case state == artifact.Absent:
		return state, output.RefuseForeign(o.Dir, "prior", append(Kind.Files, Kind.Extra...)...)
	}
	return state, nil
}

// beginDir prepares the output directory. discard undoes it after a failure, unless there
// is a checkpoint to resume from.
func (o TrainOptions) beginDir() (discard func(), err error) {
	discard = func() { // errors here would add nothing to the one being reported
		if train.HasCheckpoint(o.Dir) {
			_ = Kind.Sweep(o.Dir)
			return
		}
		_ = clear(o.Dir)
	}
	if o.Force {
		return discard, clear(o.Dir)
	}
	return discard, Kind.Sweep(o.Dir)
}

// clear removes a finished or unfinished prior from dir. Other files stay.
func clear(dir string) error {
	if err := Kind.Clear(dir); err != nil {
		return err
	}
	own := filepath.Join(dir, TokenizerDir)
	if state, err := bundle.Kind.State(own); err == nil && state != artifact.Absent {
		if err := bundle.Kind.Clear(own); err != nil {
			return err
		}
		os.Remove(own) // only if empty
	}
	return train.RemoveCheckpoints(dir)
}

// finished returns the prior of a run that is already complete, if it has the same
// settings.
func (o TrainOptions) finished(c Config, w task.Watcher) (*Prior, error) {
	p, err := Load(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w; --force starts over", err)
	}
	hash, err := config.Hash(c)
	if err != nil {
		return nil, err
	}
	if hash != p.Manifest.ConfigHash || p.Manifest.Data.Name != o.Source.name() {
		return nil, fmt.Errorf("%s was finished with other settings or data; choose another directory, or --force to replace it", o.Dir)
	}
	w.Remark("%s is already finished", o.Dir)
	return p, removeWork(o.Dir) // a kill may have left some
}
