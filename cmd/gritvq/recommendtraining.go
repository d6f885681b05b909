package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"

	"github.com/gomlx/compute"
	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/modeldir"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// modelTraining is the part of a command line that trains a recommender or a
// search engine: where, how long and with which settings.
type modelTraining struct {
	output  string
	steps   int
	batch   int
	seed    uint64
	sets    []string
	config  string
	backend string
	workers int
	resume  bool
	force   bool
	json    bool
	given   func(flag string) bool
}

func (o *modelTraining) addFlags(cmd *cobra.Command, what string) {
	cli.OutputFlag(cmd, &o.output, "directory of the "+what)
	f := cmd.Flags()
	o.given = f.Changed
	f.IntVar(&o.steps, "steps", 20000, "training steps at most")
	f.IntVar(&o.batch, "batch", 0, "examples a step (default 512; 256 of a generative model)")
	f.Uint64Var(&o.seed, "seed", 1, "decides initial weights, the order of the data and dropout")
	f.StringVar(&o.config, "config", "", "YAML file of settings, as the config.yaml that training writes")
	f.StringArrayVar(&o.sets, "set", nil, "one setting, such as model.dropout=0.2 (repeatable)")
	cli.WorkersFlag(cmd, &o.workers)
	f.BoolVar(&o.resume, "resume", false, "continue an interrupted run")
	f.BoolVar(&o.force, "force", false, "replace what is in the directory")
	cli.JSONFlag(cmd, &o.json, "the result as")
	cli.BackendFlag(cmd, &o.backend)
}

// settings completes the defaults of c, a pointer to a struct whose training run
// is t: defaults < file < flags < --set. A short run evaluates and warms up in
// proportion where nobody said otherwise.
func (o modelTraining) settings(c any, t *train.Config, validate func() error) error {
	preset := *t
	if o.config != "" {
		document, err := os.ReadFile(o.config)
		if err != nil {
			return usage.Errorf("cannot read the configuration: %w", err)
		}
		if err := config.Decode(document, c); err != nil {
			return usage.Errorf("%s: %w", o.config, err)
		}
	}
	if o.given("steps") {
		t.Steps = o.steps
	}
	if o.given("batch") {
		t.Batch = o.batch
	}
	if o.given("seed") {
		t.Seed = o.seed
	}
	for _, assignment := range o.sets {
		if err := config.Set(c, assignment); err != nil {
			return usage.Errorf("--set %s: %w", assignment, err)
		}
	}
	if t.Evaluate == preset.Evaluate && !tokenize.Assigned(o.sets, "train.evaluate") {
		t.Evaluate = max(1, min(t.Evaluate, t.Steps/4))
	}
	if t.Schedule.Warmup == preset.Schedule.Warmup && !tokenize.Assigned(o.sets, "train.schedule.warmup") {
		t.Schedule.Warmup = min(t.Schedule.Warmup, max(1, t.Steps/10))
	}
	if err := validate(); err != nil {
		return usage.Error{Err: err}
	}
	return nil
}

// warnOfLongRun says what the defaults are made for, to somebody who has given
// none of them up and no GPU.
func (o modelTraining) warnOfLongRun(s *cli.Streams, backend compute.Backend, command string) {
	if !weights.Compiles(backend) && !o.given("steps") && len(o.sets) == 0 && o.config == "" {
		s.Remark("note: the default network and budget are made for a GPU and take hours here; %s --help has sizes for a few cores", command)
	}
}

// modelFiles are the files of a directory that holds a model.
var modelFiles = []string{modeldir.ManifestFile, modeldir.ModelFile, modeldir.ConfigFile, train.LogFile, catalogue.ItemsFile}

// check refuses a directory that holds something which nobody asked to replace,
// be it the IDs or one of the other inputs.
func (o modelTraining) check(what, ids string, inputs ...string) error {
	own := filepath.Join(o.output, modeldir.IDsDir)
	if output.Same(o.output, ids) || output.Same(own, ids) {
		return usage.Errorf("-o %s would replace the IDs in %s; choose another directory", o.output, ids)
	}
	if err := output.RefuseInput(output.Inside(o.output, modelFiles...), inputs...); err != nil {
		return err
	}
	made := modeldir.Made(o.output)
	begun := output.Present(o.checkpoint()) || train.IsLog(filepath.Join(o.output, train.LogFile)) // perhaps killed before its first checkpoint
	switch {
	case !made && !begun && output.Present(own):
		return fmt.Errorf("%s is there already and no %s's; choose another directory", own, what)
	case !made && output.Present(filepath.Join(o.output, modeldir.ManifestFile)):
		return fmt.Errorf("%s holds something else than a %s; choose another directory", o.output, what)
	case o.force:
	case made:
		return fmt.Errorf("%s holds a finished %s; choose another directory, or --force to replace it", o.output, what)
	case output.Present(o.checkpoint()) && !o.resume:
		return fmt.Errorf("%s holds an unfinished run; --resume continues it, --force starts over", o.output)
	case begun:
	default:
		return output.RefuseForeign(o.output, what, modelFiles...)
	}
	return nil
}

// claim makes the directory and, with --force, clears it.
func (o modelTraining) claim() error {
	if err := output.MakeDir(o.output); err != nil || !o.force {
		return err
	}
	if err := removeIfPresent(filepath.Join(o.output, modeldir.ManifestFile)); err != nil {
		return err
	}
	return train.RemoveCheckpoints(o.output)
}

func (o modelTraining) checkpoint() string { return filepath.Join(o.output, train.CheckpointFile) }

// resumes says whether a checkpoint is to be continued.
func (o modelTraining) resumes() bool { return o.resume && !o.force }

func removeIfPresent(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// copyItems keeps titles beside a model.
func copyItems(ids, to string) error {
	content, err := os.ReadFile(filepath.Join(ids, catalogue.ItemsFile))
	if err != nil {
		return fmt.Errorf("reading the titles: %w", err)
	}
	return atomicfile.Write(filepath.Join(to, catalogue.ItemsFile), func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}
