package vqtrain

import (
	"fmt"
	"maps"
	"math"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/checkpoint"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// CheckpointFile is the name of a run's newest checkpoint inside its directory.
const CheckpointFile = checkpoint.Newest

// RemoveCheckpoints deletes the checkpoints of a run in dir.
func RemoveCheckpoints(dir string) error { return checkpoint.Remove(dir) }

// identify records what the run is of, to refuse resuming something else.
func (t *Trainer) identify(fingerprint string) (err error) {
	t.state.DataHash = fingerprint
	t.state.ConfigHash, err = config.Hash(t.config)
	return err
}

// save writes a checkpoint: every variable, the window's counts, the best weights
// so far and the host's state. Batches depend on the step alone, so nothing else
// is needed to continue.
func (t *Trainer) save() error {
	if err := t.journal.file.Sync(); err != nil {
		return fmt.Errorf("saving the training log: %w", err)
	}
	t.state.LogBytes = t.journal.size
	s := t.state
	if math.IsInf(s.Best, 1) {
		s.Best = -1 // JSON has no infinity
	}
	set, err := t.bank.Read("")
	if err != nil {
		return err
	}
	maps.DeleteFunc(set, func(p string, _ *weights.Array) bool { return hasPrefix(p, perceptualPrefix) }) // it comes with the source
	return checkpoint.Save(t.dir, t.config.Train.Keep, checkpoint.Content{State: s, Variables: set, Best: t.best, Counts: t.window.arrays()})
}

// restore continues from the directory's newest checkpoint that can be read; it
// reports whether there was one.
func (t *Trainer) restore() (bool, error) {
	var s state
	c, path, damaged, err := checkpoint.Load(t.dir, t.config.Train.Keep, &s)
	if err != nil || c == nil {
		return false, err
	}
	switch {
	case s.ConfigHash != t.state.ConfigHash:
		return false, fmt.Errorf("the checkpoint %s was made with other settings; repeat the command as it was, or start afresh in another directory", path)
	case s.DataHash != t.state.DataHash:
		return false, fmt.Errorf("the checkpoint %s was made from other data; give the same file, or start afresh in another directory", path)
	}
	if s.Best < 0 {
		s.Best = math.Inf(1)
	}
	t.state, t.best = s, c.Best
	if damaged != nil {
		t.event("%v; continuing from the one before it", damaged)
	}
	if err := t.window.load(c.Counts); err != nil {
		return false, fmt.Errorf("the checkpoint %s cannot be resumed: %w", path, err)
	}
	return true, t.bank.Install(c.Variables)
}

// arrays are the window's counts by name.
func (w *window) arrays() map[string][]int64 {
	all := map[string][]int64{"filled": w.filled, "settled": w.settled}
	for i := range w.current {
		all[fmt.Sprintf("current%d", i)], all[fmt.Sprintf("previous%d", i)] = w.current[i], w.previous[i]
	}
	return all
}

// load restores the window's counts.
func (w *window) load(counts map[string][]int64) error {
	for name, into := range w.arrays() {
		values, ok := counts[name]
		if !ok || len(values) != len(into) {
			return fmt.Errorf("array %q has %d entries, the layout needs %d", name, len(values), len(into))
		}
		copy(into, values)
	}
	return nil
}

// current returns the variables as they would be exported now: averaged where
// averages are kept, without optimizer state and caches.
func (t *Trainer) current() (weights.Set, error) {
	all, err := t.bank.Read("")
	if err != nil {
		return nil, err
	}
	set := exportable(all)
	for p := range set {
		if average, ok := all[averagePrefix+"/"+p]; ok {
			set[p] = average
		}
	}
	return set, nil
}

// export returns the final variables: the best if patience kept them.
func (t *Trainer) export() (weights.Set, error) {
	if t.best != nil {
		return t.best, nil
	}
	return t.current()
}

// exportable drops what only training needs.
func exportable(all weights.Set) weights.Set {
	set := weights.Set{}
	for p, a := range all {
		if !hasPrefix(p, "optimizer") && !hasPrefix(p, averagePrefix) && !hasPrefix(p, perceptualPrefix) && !vq.TrainingOnly(p) {
			set[p] = a
		}
	}
	return set
}
