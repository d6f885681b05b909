package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// runTrain trains a tokenizer and writes its bundle and report. Nothing is
// touched in the output directory before the input proved usable.
func runTrain(ctx context.Context, s *cli.Streams, o trainOptions) error {
	c, err := o.settings.config()
	if err != nil {
		return err
	}
	if o.held != "" && o.settings.flags.Changed("split") {
		return usage.Errorf("--split and --val exclude each other: the held-out rows are those of %s", o.held)
	}
	if err := o.settings.checkKind(c, o.input); err != nil {
		return err
	}
	if err := engine.UseWorkers(o.workers); err != nil {
		return err
	}
	state, err := bundle.Kind.State(o.output)
	if err != nil {
		return err
	}
	e := &experiment{dir: o.output, resume: o.resume && !o.force}
	switch {
	case state == artifact.Finished && !o.force && !o.resume:
		return fmt.Errorf("%s holds a finished tokenizer; choose another directory, or --force to replace it", o.output)
	case state == artifact.Unfinished && !o.resume && !o.force:
		return fmt.Errorf("%s holds an unfinished run; --resume continues it, --force starts over", o.output)
	}
	if state == artifact.Absent && !o.force {
		if err := output.RefuseForeign(o.output, "tokenizer", bundle.ConfigFile, bundle.ReportFile); err != nil {
			return err
		}
	}
	dropped := 0
	if c.Model.Pictures() {
		e.source, e.fingerprint, err = openPictureSource(ctx, s, o, c)
		if err == nil {
			e.source.Perceptual, err = perceptual(s, o, &c)
		}
	} else {
		var stats vectors.Stats
		e.source, stats, dropped, err = openSource(ctx, s, o.input, o.held, o.drop, c)
		e.fingerprint = stats.Fingerprint
	}
	if err != nil {
		return err
	}
	source := e.source
	e.config = c
	defer source.Close()
	if state == artifact.Finished && e.resume {
		return e.showFinished(s, o)
	}
	if _, err := c.Tokenizer(source.Input()); err != nil {
		return o.settings.unsuited(c.Quantizer.Method, err)
	}
	if o.codebook != "" {
		if err := e.importCodebook(ctx, s, o.codebook); err != nil {
			return err
		}
	}
	if e.backend, err = engine.Choose(o.backend); err != nil {
		return err
	}
	discard, err := claim(o.output, o.force)
	if err != nil {
		return err
	}
	e.started = func(step int) {
		s.Remark("training %s on %s of %s, %d held out", describeModel(c.Spec, source.Input()), report.Counted(source.Train.Len(), itemName(c)), o.input, source.Held.Len())
		if step > 0 {
			s.Remark("continuing after step %d of %d", step, c.Train.Steps)
		}
	}
	watch := task.WatchTraining(s, c.Train.Steps)
	result, err := e.run(ctx, s, observe(watch))
	watch.Done()
	if err != nil {
		if !errors.Is(err, vqtrain.ErrInterrupted) {
			discard()
		}
		return err
	}
	manifest := bundle.Manifest{
		Head: artifact.Provenance(version.CreatedBy(), s.Command),
		Data: bundle.Data{Name: dataset.Name(o.input), Fingerprint: e.fingerprint, Held: heldName(o.held), Rows: source.Len(),
			TrainRows: source.Train.Len(), HeldRows: source.Held.Len(), Dropped: dropped},
		Training: bundle.Training{Steps: c.Train.Steps, Resumed: result.firstStep, Seconds: result.duration.Seconds(), Backend: o.backend},
		Layout:   bundle.LayoutOf(result.runtime.Tokenizer().Quantizer.Layout()),
		Metrics:  bundle.Metrics{Held: result.held, Train: result.train},
	}
	if c.Model.Pictures() {
		manifest.Metrics.Pictures = &result.pictures
	}
	if err := e.store(ctx, manifest, result); err != nil {
		discard()
		return err
	}
	return showTrained(s, o, manifest)
}

// itemName is what a tokenizer is trained on one of.
func itemName(c vqtrain.Config) string {
	if c.Model.Pictures() {
		return "picture"
	}
	return "row"
}

func heldName(path string) string {
	if path == "" {
		return ""
	}
	return dataset.Name(path)
}

// claim prepares the output directory. The returned function undoes it after a
// failure, unless there is a checkpoint to resume from.
func claim(dir string, force bool) (discard func(), err error) {
	_, missing := os.Stat(dir)
	if err := output.MakeDir(dir); err != nil {
		return nil, err
	}
	discard = func() { // its own failures add nothing to the one being reported
		if _, err := os.Stat(filepath.Join(dir, vqtrain.CheckpointFile)); err != nil {
			_ = bundle.Clear(dir)
		} else {
			_ = bundle.Kind.Sweep(dir)
		}
		if missing != nil {
			os.Remove(dir) // only if empty
		}
	}
	if force {
		return discard, bundle.Clear(dir)
	}
	return discard, bundle.Kind.Sweep(dir)
}

// entropyPictures bounds the training pictures from which the codes' order is
// learned.
const entropyPictures = 5000

// store writes the report and the bundle, then drops the checkpoint.
func (e *experiment) store(ctx context.Context, manifest bundle.Manifest, result *outcome) error {
	m := result.runtime.Tokenizer()
	manifest.Input = m.Input
	b := &bundle.Bundle{Manifest: manifest, Tokenizer: m, Weights: result.weights, Codebooks: result.runtime.Codebooks()}
	if err := b.SetConfig(e.config); err != nil {
		return err
	}
	for position := range b.Codebooks {
		histogram := result.usage.Histogram(position)
		counts := make([]int64, len(histogram))
		for i, n := range histogram {
			counts[i] = int64(n)
		}
		b.Usage = append(b.Usage, counts)
	}
	if b.Tokenizer.Spec.Model.Pictures() {
		var err error
		if b.Entropy, err = picture.TrainEntropy(ctx, result.runtime, e.source.Images, e.source.Train.Head(entropyPictures), nil); err != nil {
			return fmt.Errorf("learning which codes stand beside which: %w", err)
		}
	}
	makePage := e.report
	if b.Tokenizer.Spec.Model.Pictures() {
		makePage = e.pictureReport
	}
	page, err := makePage(ctx, b, result)
	if err != nil {
		return fmt.Errorf("making the report: %w", err)
	}
	if err := page.WriteFile(filepath.Join(e.dir, bundle.ReportFile)); err != nil {
		return err
	}
	if err := bundle.Write(e.dir, b); err != nil {
		return err
	}
	return vqtrain.RemoveCheckpoints(e.dir)
}

// showFinished answers --resume where nothing is left to do.
func (e *experiment) showFinished(s *cli.Streams, o trainOptions) error {
	b, err := bundle.Load(o.output)
	if err != nil {
		return err
	}
	c, err := vqtrain.ReadConfig(b.Config)
	if err != nil {
		return err
	}
	other := ""
	switch {
	case !reflect.DeepEqual(c, e.config):
		other = "settings"
	case b.Manifest.Data.Fingerprint != e.fingerprint:
		other = "data"
	}
	if other != "" {
		return fmt.Errorf("%s was finished with other %s; choose another directory, or --force to replace it", o.output, other)
	}
	s.Remark("%s is already finished", o.output)
	return showTrained(s, o, b.Manifest)
}
