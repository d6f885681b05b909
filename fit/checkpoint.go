package fit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/weights"
)

// CheckpointFile is the name of a run's newest checkpoint inside its directory.
const CheckpointFile = "checkpoint.safetensors"

// checkpointName is the name of a checkpoint with so many newer ones.
func checkpointName(age int) string {
	if age == 0 {
		return CheckpointFile
	}
	return fmt.Sprintf("checkpoint-%d.safetensors", age)
}

// RemoveCheckpoints deletes the checkpoints of a run in dir.
func RemoveCheckpoints(dir string) error {
	for age := 0; ; age++ {
		err := os.Remove(filepath.Join(dir, checkpointName(age)))
		if errors.Is(err, os.ErrNotExist) && age > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing a checkpoint: %w", err)
		}
	}
}

// rotate makes room for a new checkpoint. The newest stays in its place as well
// until it is replaced, so that there is one whatever happens.
func (t *Trainer) rotate() error {
	for age := t.config.Train.Keep - 1; age > 0; age-- {
		from, to := filepath.Join(t.dir, checkpointName(age-1)), filepath.Join(t.dir, checkpointName(age))
		move := os.Rename
		if age == 1 {
			move = func(from, to string) error {
				if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
					return err
				}
				return os.Link(from, to)
			}
		}
		if err := move(from, to); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("keeping the checkpoint before: %w", err)
		}
	}
	return nil
}

// A checkpoint holds every variable ("variables/…": parameters, moments,
// averages, caches), the window's counts ("window/…"), the best weights so far
// ("best/…") and, as metadata, the host's state. Batches depend on the step
// alone, so nothing else is needed to continue.
const (
	variablesPrefix = "variables/"
	windowPrefix    = "window/"
	bestPrefix      = "best/"
)

// identify records what the run is of, to refuse resuming something else.
func (t *Trainer) identify(fingerprint string) (err error) {
	t.state.DataHash = fingerprint
	t.state.ConfigHash, err = config.Hash(t.config)
	return err
}

// save writes the checkpoint whole or not at all.
func (t *Trainer) save() error {
	if err := t.journal.file.Sync(); err != nil {
		return fmt.Errorf("saving the training log: %w", err)
	}
	t.state.LogBytes = t.journal.size
	s := t.state
	if math.IsInf(s.Best, 1) {
		s.Best = -1 // JSON has no infinity
	}
	host, err := json.Marshal(s)
	if err != nil {
		return err
	}
	set, err := t.bank.Read("")
	if err != nil {
		return err
	}
	var list []safetensors.Tensor
	for _, p := range set.Paths() {
		if hasPrefix(p, perceptualPrefix) {
			continue // it comes with the source
		}
		list = append(list, safetensors.FromFloat32(variablesPrefix+p, set[p].Shape, set[p].Data))
	}
	for _, p := range t.best.Paths() {
		list = append(list, safetensors.FromFloat32(bestPrefix+p, t.best[p].Shape, t.best[p].Data))
	}
	for i := range t.window.current {
		k := []int{len(t.window.current[i])}
		list = append(list,
			safetensors.FromInt64(fmt.Sprintf("%scurrent%d", windowPrefix, i), k, t.window.current[i]),
			safetensors.FromInt64(fmt.Sprintf("%sprevious%d", windowPrefix, i), k, t.window.previous[i]))
	}
	positions := []int{len(t.window.filled)}
	list = append(list,
		safetensors.FromInt64(windowPrefix+"filled", positions, t.window.filled),
		safetensors.FromInt64(windowPrefix+"settled", positions, t.window.settled))
	if err := t.rotate(); err != nil {
		return err
	}
	return safetensors.Write(filepath.Join(t.dir, CheckpointFile), list, map[string]string{"state": string(host)})
}

// restore continues from the directory's newest checkpoint that can be read; it
// reports whether there was one.
func (t *Trainer) restore() (bool, error) {
	var damaged error
	for age := range max(1, t.config.Train.Keep) {
		path := filepath.Join(t.dir, checkpointName(age))
		file, err := safetensors.Read(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			damaged = cmp.Or(damaged, fmt.Errorf("the checkpoint cannot be resumed: %w", err))
			continue
		}
		if err := t.load(path, file); err != nil {
			return false, err
		}
		if damaged != nil {
			t.event("%v; continuing from the one before it", damaged)
		}
		return true, nil
	}
	return false, damaged
}

// load takes the state from a checkpoint.
func (t *Trainer) load(path string, file *safetensors.File) error {
	var s state
	if err := json.Unmarshal([]byte(file.Metadata["state"]), &s); err != nil {
		return fmt.Errorf("the checkpoint %s cannot be resumed: its state is damaged: %w", path, err)
	}
	switch {
	case s.ConfigHash != t.state.ConfigHash:
		return fmt.Errorf("the checkpoint %s was made with other settings; repeat the command as it was, or start afresh in another directory", path)
	case s.DataHash != t.state.DataHash:
		return fmt.Errorf("the checkpoint %s was made from other data; give the same file, or start afresh in another directory", path)
	}
	if s.Best < 0 {
		s.Best = math.Inf(1)
	}
	t.state = s
	variables := weights.Set{}
	for _, tensor := range file.Tensors {
		if name, ok := strings.CutPrefix(tensor.Name, windowPrefix); ok {
			if err := t.window.load(name, tensor); err != nil {
				return fmt.Errorf("the checkpoint %s cannot be resumed: %w", path, err)
			}
			continue
		}
		values, err := tensor.Float32()
		if err != nil {
			return fmt.Errorf("the checkpoint %s cannot be resumed: %w", path, err)
		}
		array := &weights.Array{Shape: tensor.Shape, Data: values}
		if name, ok := strings.CutPrefix(tensor.Name, variablesPrefix); ok {
			variables[name] = array
		} else if name, ok := strings.CutPrefix(tensor.Name, bestPrefix); ok {
			if t.best == nil {
				t.best = weights.Set{}
			}
			t.best[name] = array
		}
	}
	return t.bank.Install(variables)
}

// load restores one of the window's arrays.
func (w *window) load(name string, tensor safetensors.Tensor) error {
	values, err := tensor.Int64()
	if err != nil {
		return err
	}
	into := w.filled
	var position int
	switch {
	case name == "filled":
	case name == "settled":
		into = w.settled
	default:
		table := w.current
		if _, err := fmt.Sscanf(name, "current%d", &position); err != nil {
			table = w.previous
			if _, err := fmt.Sscanf(name, "previous%d", &position); err != nil {
				return fmt.Errorf("unknown array %q", windowPrefix+name)
			}
		}
		if position < 0 || position >= len(table) {
			return fmt.Errorf("array %q belongs to another layout", windowPrefix+name)
		}
		into = table[position]
	}
	if len(values) != len(into) {
		return fmt.Errorf("array %q has %d entries, the layout needs %d", windowPrefix+name, len(values), len(into))
	}
	copy(into, values)
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
		if hasPrefix(p, "optimizer") || hasPrefix(p, averagePrefix) || hasPrefix(p, perceptualPrefix) {
			continue
		}
		switch filepath.Base(p) {
		case "cache", "cache_gradient", "counts", "sums":
			continue
		}
		set[p] = a
	}
	return set
}
