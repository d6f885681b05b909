package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/gritvq/gritvq/internal/checkpoint"
)

// The files of a run.
const (
	CheckpointFile = checkpoint.Newest
	LogFile        = "log.jsonl"
)

// IsLog says whether a file is the log of a run, be it of one that has not come
// to its first record.
func IsLog(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var first Record
	err = json.NewDecoder(f).Decode(&first)
	return errors.Is(err, io.EOF) || err == nil && first.Step > 0
}

// RemoveCheckpoints deletes the checkpoints of a run in dir.
func RemoveCheckpoints(dir string) error { return checkpoint.Remove(dir) }

// save writes a checkpoint.
func (t *trainer) save() error {
	if err := t.log.Sync(); err != nil {
		return fmt.Errorf("saving the training log: %w", err)
	}
	s := t.state
	s.Seconds = t.seconds()
	if math.IsInf(s.Best, 0) {
		s.Best = -math.MaxFloat64 // JSON has no infinity
	}
	set, err := t.bank.Read("")
	if err != nil {
		return err
	}
	return checkpoint.Save(t.options.Dir, t.config.Keep, checkpoint.Content{State: s, Variables: set, Best: t.best})
}

// restore continues from the directory's newest checkpoint that can be read; it
// reports whether there was one.
func (t *trainer) restore() (bool, error) {
	var s state
	c, path, damaged, err := checkpoint.Load(t.options.Dir, t.config.Keep, &s)
	if err != nil || c == nil {
		return false, err
	}
	if s.Identity != t.identity() {
		return false, fmt.Errorf("the checkpoint %s was made with other settings or data; repeat the command as it was, or start afresh in another directory", path)
	}
	if s.Best == -math.MaxFloat64 {
		s.Best = math.Inf(-1)
	}
	if damaged != nil && t.options.Watch.Status != nil {
		t.options.Watch.Status(fmt.Sprintf("%v; continuing from the one before it", damaged))
	}
	t.state, t.best, t.before = s, c.Best, s.Seconds
	return true, t.bank.Install(c.Variables)
}
