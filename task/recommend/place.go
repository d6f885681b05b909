package recommend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/train"
)

// modelFiles are the files of a directory that holds a model.
var modelFiles = []string{artifact.ManifestFile, ModelFile, ConfigFile, train.LogFile, catalogue.ItemsFile}

// checkDir refuses an output directory that holds an input or something that
// nobody asked to replace.
func (o TrainOptions) checkDir() error {
	title, own := o.Source.Purpose().Title(), filepath.Join(o.Dir, IDsDir)
	if output.Same(o.Dir, o.IDs) || output.Same(own, o.IDs) {
		return usage.Errorf("-o %s would replace the IDs in %s; choose another directory", o.Dir, o.IDs)
	}
	if err := output.RefuseInput(output.Inside(o.Dir, modelFiles...), o.Source.Paths()...); err != nil {
		return err
	}
	holds, _, missing := artifact.Identify(o.Dir)
	made := holds != nil && (holds == Recommending.stored || holds == Searching.stored)
	checkpoint := output.Present(filepath.Join(o.Dir, train.CheckpointFile))
	begun := checkpoint || train.IsLog(filepath.Join(o.Dir, train.LogFile)) // perhaps killed before its first checkpoint
	switch {
	case !made && !begun && output.Present(own):
		return fmt.Errorf("%s is there already and no %s's; choose another directory", own, title)
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

// claimDir makes the output directory and, with Force, removes the model or run
// that is there.
func (o TrainOptions) claimDir() error {
	if err := output.MakeDir(o.Dir); err != nil || !o.Force {
		return err
	}
	if err := os.Remove(filepath.Join(o.Dir, artifact.ManifestFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return train.RemoveCheckpoints(o.Dir)
}
