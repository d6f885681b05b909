// Package checkpoint keeps the state of a training run on disk: the newest in one
// file, older ones beside it in case it is damaged. Each is written atomically and
// has a checksum.
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

// name returns the name of a checkpoint that has age newer ones.
func name(age int) string {
	if age == 0 {
		return Newest
	}
	return fmt.Sprintf("checkpoint-%d.safetensors", age)
}

// Content is the content of a checkpoint.
type Content struct {
	State     any         // the host's part, written as JSON
	Variables weights.Set // parameters, moments, averages
	Best      weights.Set // variables of the best evaluation so far; may be nil
}

// Save writes a checkpoint into dir and keeps the given number of them, at least
// one.
func Save(dir string, keep int, c Content) error {
	state, err := json.Marshal(c.State)
	if err != nil {
		return fmt.Errorf("saving the checkpoint: %w", err)
	}
	var list []safetensors.Tensor
	for section, set := range map[string]weights.Set{"variables": c.Variables, "best": c.Best} {
		for p, a := range set {
			list = append(list, safetensors.FromFloat32(section+"/"+p, a.Shape, a.Data))
		}
	}
	slices.SortFunc(list, func(a, b safetensors.Tensor) int { return strings.Compare(a.Name, b.Name) })
	return safetensors.WriteSealed(filepath.Join(dir, Newest), list, map[string]string{"state": string(state)},
		func() error { return rotate(dir, keep) })
}

// link is replaced by tests.
var link = os.Link

// rotate makes room for a new checkpoint, which is on the disk already. The newest
// stays in its place as well until it is replaced, so that there is one at any time.
// Systems without hard links lose its name for a moment; the one before is there then.
func rotate(dir string, keep int) error {
	move := os.Rename
	for age := keep - 1; age > 0; age-- {
		from, to := filepath.Join(dir, name(age-1)), filepath.Join(dir, name(age))
		if age == 1 {
			move = linkOrRename
			if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("keeping the checkpoint before: %w", err)
			}
		}
		if err := move(from, to); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("keeping the checkpoint before: %w", err)
		}
	}
	return nil
}

func linkOrRename(from, to string) error {
	err := link(from, to)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		err = os.Rename(from, to)
	}
	return err
}

// Exists says whether there is a checkpoint in dir.
func Exists(dir string) bool {
	for age := range 2 { // without hard links a kill may leave the one before alone
		if _, err := os.Stat(filepath.Join(dir, name(age))); err == nil {
			return true
		}
	}
	return false
}

// Load reads the newest checkpoint of dir that is whole, its state into into.
// It returns nil if there is none. path names the file, and damaged explains why
// newer ones were skipped.
func Load(dir string, keep int, into any) (c *Content, path string, damaged, err error) {
	for age := range max(1, keep) {
		path = filepath.Join(dir, name(age))
		file, err := safetensors.ReadSealed(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			if c, err = open(file, into); err == nil {
				return c, path, damaged, nil
			}
			err = fmt.Errorf("%s is damaged: %w", path, err)
		}
		damaged = cmp.Or(damaged, fmt.Errorf("the checkpoint cannot be resumed: %w", err))
	}
	return nil, "", nil, damaged
}

// open takes a file apart.
func open(file *safetensors.File, into any) (*Content, error) {
	if err := json.Unmarshal([]byte(file.Metadata["state"]), into); err != nil {
		return nil, fmt.Errorf("its state makes no sense: %w", err)
	}
	sections := map[string]weights.Set{"variables": {}, "best": nil}
	for _, tensor := range file.Tensors {
		section, path, _ := strings.Cut(tensor.Name, "/")
		values, err := tensor.Float32()
		if err != nil {
			return nil, err
		}
		if sections[section] == nil {
			sections[section] = weights.Set{}
		}
		sections[section][path] = &weights.Array{Shape: tensor.Shape, Data: values}
	}
	return &Content{State: into, Variables: sections["variables"], Best: sections["best"]}, nil
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
