// Package checkpoint keeps the state of a training run on disk: the newest in one
// file, those before it beside it in case it is damaged. Each is written whole
// or not at all.
package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/weights"
)

// Newest is the name of the newest checkpoint inside a run's directory.
const Newest = "checkpoint.safetensors"

// name is that of a checkpoint with so many newer ones.
func name(age int) string {
	if age == 0 {
		return Newest
	}
	return fmt.Sprintf("checkpoint-%d.safetensors", age)
}

// Content is what a checkpoint holds.
type Content struct {
	State     any                // the host's part: written as JSON, read into
	Variables weights.Set        // parameters, moments, averages
	Best      weights.Set        // variables of the best evaluation so far; may be nil
	Counts    map[string][]int64 // whole numbers by name; may be nil
}

const (
	variablesPrefix = "variables/"
	bestPrefix      = "best/"
	countsPrefix    = "window/"
)

// Save writes a checkpoint into dir and keeps so many in all, at least one.
func Save(dir string, keep int, c Content) error {
	state, err := json.Marshal(c.State)
	if err != nil {
		return fmt.Errorf("saving the checkpoint: %w", err)
	}
	var list []safetensors.Tensor
	for prefix, set := range map[string]weights.Set{variablesPrefix: c.Variables, bestPrefix: c.Best} {
		for _, p := range set.Paths() {
			list = append(list, safetensors.FromFloat32(prefix+p, set[p].Shape, set[p].Data))
		}
	}
	for n, values := range c.Counts {
		list = append(list, safetensors.FromInt64(countsPrefix+n, []int{len(values)}, values))
	}
	slices.SortFunc(list, func(a, b safetensors.Tensor) int { return strings.Compare(a.Name, b.Name) })
	if err := rotate(dir, keep); err != nil {
		return err
	}
	return safetensors.Write(filepath.Join(dir, Newest), list, map[string]string{"state": string(state)})
}

// rotate makes room for a new checkpoint. The newest stays in its place as well
// until it is replaced, so that there is one whatever happens.
func rotate(dir string, keep int) error {
	for age := keep - 1; age > 0; age-- {
		from, to := filepath.Join(dir, name(age-1)), filepath.Join(dir, name(age))
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

// Load reads the newest checkpoint of dir that can be read; into is where its
// state goes. It returns nil where there is none. path is that of the file, and
// damaged says why newer ones were passed over.
func Load(dir string, keep int, into any) (c *Content, path string, damaged, err error) {
	for age := range max(1, keep) {
		path = filepath.Join(dir, name(age))
		file, err := safetensors.Read(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			damaged = cmp.Or(damaged, fmt.Errorf("the checkpoint cannot be resumed: %w", err))
			continue
		}
		c, err := open(file, into)
		if err != nil {
			return nil, path, damaged, fmt.Errorf("the checkpoint %s cannot be resumed: %w", path, err)
		}
		return c, path, damaged, nil
	}
	return nil, "", nil, damaged
}

// open takes a file apart.
func open(file *safetensors.File, into any) (*Content, error) {
	if err := json.Unmarshal([]byte(file.Metadata["state"]), into); err != nil {
		return nil, fmt.Errorf("its state is damaged: %w", err)
	}
	c := &Content{State: into, Variables: weights.Set{}, Counts: map[string][]int64{}}
	for _, tensor := range file.Tensors {
		if n, ok := strings.CutPrefix(tensor.Name, countsPrefix); ok {
			values, err := tensor.Int64()
			if err != nil {
				return nil, err
			}
			c.Counts[n] = values
			continue
		}
		values, err := tensor.Float32()
		if err != nil {
			return nil, err
		}
		array := &weights.Array{Shape: tensor.Shape, Data: values}
		if n, ok := strings.CutPrefix(tensor.Name, variablesPrefix); ok {
			c.Variables[n] = array
		} else if n, ok := strings.CutPrefix(tensor.Name, bestPrefix); ok {
			if c.Best == nil {
				c.Best = weights.Set{}
			}
			c.Best[n] = array
		}
	}
	return c, nil
}

// Remove deletes the checkpoints of a run in dir.
func Remove(dir string) error {
	for age := 0; ; age++ {
		err := os.Remove(filepath.Join(dir, name(age)))
		if errors.Is(err, os.ErrNotExist) && age > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing a checkpoint: %w", err)
		}
	}
}
