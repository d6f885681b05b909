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
	"time"

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

// Content is what a checkpoint holds.
type Content struct {
	State     any                // the host's part: written as JSON, read into
	Variables weights.Set        // parameters, moments, averages
	Best      weights.Set        // variables of the best evaluation so far; may be nil
	Counts    map[string][]int64 // whole numbers by name; may be nil
}

// Sections of a file: prefixes of the names of its tensors.
const (
	variables = "variables"
	best      = "best"
	counts    = "counts"
)

// Save writes a checkpoint into dir and keeps the given number of them, at least
// one.
func Save(dir string, keep int, c Content) error {
	state, err := json.Marshal(c.State)
	if err != nil {
		return fmt.Errorf("saving the checkpoint: %w", err)
	}
	var list []safetensors.Tensor
	for section, set := range map[string]weights.Set{variables: c.Variables, best: c.Best} {
		for p, a := range set {
			list = append(list, safetensors.FromFloat32(section+"/"+p, a.Shape, a.Data))
		}
	}
	for n, values := range c.Counts {
		list = append(list, safetensors.FromInt64(counts+"/"+n, []int{len(values)}, values))
	}
	slices.SortFunc(list, func(a, b safetensors.Tensor) int { return strings.Compare(a.Name, b.Name) })
	if err := rotate(dir, keep); err != nil {
		return err
	}
	return safetensors.Write(filepath.Join(dir, Newest), list, map[string]string{"state": string(state)})
}

// rotate makes room for a new checkpoint. The newest stays in its place as well
// until it is replaced, so that there is one at any time.
func rotate(dir string, keep int) error {
	move := os.Rename
	for age := keep - 1; age > 0; age-- {
		from, to := filepath.Join(dir, name(age-1)), filepath.Join(dir, name(age))
		if age == 1 {
			move = os.Link
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

// Load reads the newest checkpoint of dir that can be read, its state into into.
// It returns nil if there is none. path is that of the file, and damaged says why
// newer ones were passed over.
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
	c := &Content{State: into, Variables: weights.Set{}, Best: weights.Set{}, Counts: map[string][]int64{}}
	for _, tensor := range file.Tensors {
		var err error
		section, n, _ := strings.Cut(tensor.Name, "/")
		array := &weights.Array{Shape: tensor.Shape}
		switch section {
		case variables:
			array.Data, err = tensor.Float32()
			c.Variables[n] = array
		case best:
			array.Data, err = tensor.Float32()
			c.Best[n] = array
		case counts:
			c.Counts[n], err = tensor.Int64()
		}
		if err != nil {
			return nil, err
		}
	}
	if len(c.Best) == 0 {
		c.Best = nil
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

// longest is the time after which a checkpoint is due in any case: a kill costs no
// more.
const longest = 3 * time.Minute

// Rhythm says when a checkpoint is due: every few steps, and sooner if steps are
// slow.
type Rhythm struct {
	steps   int
	longest time.Duration
	last    time.Time
}

// NewRhythm starts a run's rhythm now.
func NewRhythm(steps int) *Rhythm { return &Rhythm{steps: steps, longest: longest, last: time.Now()} }

// Due says whether to save after a step; if it returns true, the caller must save.
func (r *Rhythm) Due(step int) bool {
	if step%r.steps != 0 && time.Since(r.last) < r.longest {
		return false
	}
	r.last = time.Now()
	return true
}
