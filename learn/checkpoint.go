package learn

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/weights"
)

// The files of a run.
const (
	CheckpointFile = "checkpoint.safetensors"
	LogFile        = "log.jsonl"
)

const (
	variablesPrefix = "variables/"
	bestPrefix      = "best/"
)

// save writes the checkpoint whole or not at all.
func (t *trainer) save() error {
	if err := t.log.Sync(); err != nil {
		return fmt.Errorf("saving the training log: %w", err)
	}
	s := t.state
	if math.IsInf(s.Best, 0) {
		s.Best = -math.MaxFloat64 // JSON has no infinity
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
		list = append(list, safetensors.FromFloat32(variablesPrefix+p, set[p].Shape, set[p].Data))
	}
	for _, p := range t.best.Paths() {
		list = append(list, safetensors.FromFloat32(bestPrefix+p, t.best[p].Shape, t.best[p].Data))
	}
	return safetensors.Write(filepath.Join(t.dir, CheckpointFile), list, map[string]string{"state": string(host)})
}

// restore continues from the directory's checkpoint; it reports whether there
// was one.
func (t *trainer) restore() (bool, error) {
	path := filepath.Join(t.dir, CheckpointFile)
	file, err := safetensors.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("the checkpoint cannot be resumed: %w", err)
	}
	var s state
	if err := json.Unmarshal([]byte(file.Metadata["state"]), &s); err != nil {
		return false, fmt.Errorf("the checkpoint %s cannot be resumed: its state is damaged: %w", path, err)
	}
	if s.Identity != t.problem.Identity {
		return false, fmt.Errorf("the checkpoint %s was made with other settings or data; repeat the command as it was, or start afresh in another directory", path)
	}
	if s.Best == -math.MaxFloat64 {
		s.Best = math.Inf(-1)
	}
	t.state = s
	variables := weights.Set{}
	for _, tensor := range file.Tensors {
		values, err := tensor.Float32()
		if err != nil {
			return false, fmt.Errorf("the checkpoint %s cannot be resumed: %w", path, err)
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
	return true, t.bank.Install(variables)
}
