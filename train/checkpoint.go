package train

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"

	"github.com/gritvq/gritvq/internal/checkpoint"
	"github.com/gritvq/gritvq/weights"
)

// CheckpointFile is the newest checkpoint of a run inside its directory.
const CheckpointFile = checkpoint.Newest

// HasCheckpoint says whether a run left a checkpoint in dir.
func HasCheckpoint(dir string) bool { return checkpoint.Exists(dir) }

// RemoveCheckpoints deletes the checkpoints of a run in dir.
func RemoveCheckpoints(dir string) error { return checkpoint.Remove(dir) }

// UnusableError says that a run cannot be resumed from the work in its directory.
type UnusableError struct{ Err error }

func (e *UnusableError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UnusableError) Unwrap() error { return e.Err }

// state is the host's part of a checkpoint.
type state struct {
	Identity string          `json:"identity"`
	Data     string          `json:"data"`
	Step     int             `json:"step"`
	Since    int             `json:"since"`              // step at which the optimizer began
	Assisted int             `json:"assisted,omitempty"` // and of Assisting variables
	Skipped  int             `json:"skipped"`            // steps skipped so far
	InARow   int             `json:"in_a_row"`           // skipped since the last one that was kept
	Best     float64         `json:"best"`               // best score
	BestStep int             `json:"best_step"`          // and when
	Stale    int             `json:"stale"`              // evaluations since
	Stopped  bool            `json:"stopped"`            // patience ran out, or the score is flat
	Flat     *flat           `json:"flat,omitempty"`     // nil before the first evaluation
	LogBytes int64           `json:"log_bytes"`
	Seconds  float64         `json:"seconds"`
	Problem  json.RawMessage `json:"problem,omitempty"` // of Hooks.State
}

// Save writes a checkpoint: every variable, the best weights so far and the
// host's state. Batches depend on the step alone, so nothing else is needed to
// continue.
func (t *Trainer) Save() (err error) {
	if t.journal == nil {
		return nil
	}
	if err := t.journal.file.Sync(); err != nil {
		return fmt.Errorf("saving the training log: %w", err)
	}
	s := t.state
	s.LogBytes, s.Seconds = t.journal.size, t.Seconds()
	s.Best = max(s.Best, -math.MaxFloat64) // JSON has no infinity
	if s.Problem, err = json.Marshal(t.problem.State); err != nil {
		return fmt.Errorf("saving the checkpoint: %w", err)
	}
	c := checkpoint.Content{State: s, Best: t.best}
	if c.Variables, err = t.bank.Read(""); err != nil {
		return err
	}
	maps.DeleteFunc(c.Variables, func(p string, _ *weights.Array) bool { return t.problem.Constants[p] != nil })
	if err := checkpoint.Save(t.options.Dir, t.config.Keep, c); err != nil {
		return err
	}
	t.saved = s.Step
	return nil
}

// restore continues from the directory's newest checkpoint that can be read, and
// says whether there is one.
func (t *Trainer) restore() (bool, error) {
	var s state
	c, path, damaged, err := checkpoint.Load(t.options.Dir, t.config.Keep, &s)
	if err == nil && c == nil {
		return false, nil
	}
	switch {
	case err != nil:
		err = fmt.Errorf("%w; --force starts over", err)
	case s.Identity != t.state.Identity:
		err = fmt.Errorf("the checkpoint %s was made with other settings; "+
			"repeat the command as it was, or start afresh in another directory", path)
	case s.Data != t.state.Data:
		err = fmt.Errorf("the checkpoint %s was made from other data; give the same data, or start afresh in another directory", path)
	case t.problem.State != nil:
		if damage := json.Unmarshal(s.Problem, t.problem.State); damage != nil {
			err = fmt.Errorf("the checkpoint %s cannot be resumed: its state is damaged: %w", path, damage)
		}
	}
	if err != nil {
		return false, &UnusableError{err}
	}
	if damaged != nil {
		t.Status(fmt.Sprintf("%v; continuing from the one before it", damaged))
	}
	t.state, t.best, t.before, t.saved = s, c.Best, s.Seconds, s.Step
	t.list(c.Variables)
	return true, t.bank.Install(c.Variables)
}
