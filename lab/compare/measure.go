package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// train trains and scores a cell in its work directory, from the checkpoint
// there if a run was cut short.
func (c *Comparison) train(ctx context.Context, cell Cell) (Record, error) {
	source := c.Task.Source(cell)
	if source.Held.Len() == 0 {
		return Record{}, errors.New("nothing is held out to score on; lower --split")
	}
	rendered, err := config.Render(cell.Config)
	if err != nil {
		return Record{}, err
	}
	backend, release, err := c.Engine()
	if err != nil {
		return Record{}, err
	}
	defer debug.FreeOSMemory() // runs last, when nothing refers to the engine
	defer release()
	dir := c.workDir(cell)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Record{}, fmt.Errorf("cannot create %s: %w", dir, err)
	}
	clock := startClock(dir)
	observe := vqtrain.Observer{Step: func(r vqtrain.Record) {
		if r.Step%cell.Config.Train.Checkpoint == 0 {
			clock.save()
		}
		c.step(cell, r.Step)
	}}
	trainer, err := vqtrain.New(backend, cell.Config, source, c.Task.Fingerprint(), dir, true, observe)
	if err != nil && clock.before > 0 { // what was left behind cannot be used
		os.RemoveAll(dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return Record{}, fmt.Errorf("cannot create %s: %w", dir, err)
		}
		clock = startClock(dir)
		trainer, err = vqtrain.New(backend, cell.Config, source, c.Task.Fingerprint(), dir, true, observe)
	}
	if err != nil {
		return Record{}, err
	}
	defer trainer.Close()
	set, err := trainer.Run(ctx)
	if err != nil {
		clock.save()
		return Record{}, err
	}
	seconds := clock.seconds()
	runtime, err := trainer.Runtime(set)
	if err != nil {
		return Record{}, err
	}
	defer runtime.Close()
	r := cell.failed("")
	r.Settings = string(rendered)
	r.Scores = table.Scores{"train_seconds": seconds}
	for _, a := range set {
		r.Scores["parameters"] += float64(len(a.Data))
	}
	if !vq.Classical(cell.Method) {
		if r.Course, err = course(filepath.Join(dir, bundle.LogFile), c.Task.Kind().held); err != nil {
			return Record{}, err
		}
	}
	err = c.Task.Score(ctx, backend, Trained{cell, runtime, source}, &r)
	return r, err
}

// course reads what the training log says about codes in use and the held-out
// score.
func course(path string, held func(vqtrain.HeldRecord) float64) ([]Moment, error) {
	records, err := vqtrain.ReadLog(path)
	if err != nil {
		return nil, err
	}
	var moments []Moment
	for _, r := range records {
		m := Moment{Step: r.Step}
		if r.Levels != nil {
			m.Utilization, m.DeadRate = &r.Utilization, &r.DeadRate
		}
		if r.Held != nil {
			m.Held = table.Finite(held(*r.Held))
		}
		if m.Utilization != nil || m.Held != nil {
			moments = append(moments, m)
		}
	}
	return moments, nil
}

func (c *Comparison) workDir(cell Cell) string { return filepath.Join(c.Dir, "work", cell.ID) }

// stopwatch adds up the time of the sessions a cell was trained in.
type stopwatch struct {
	path   string
	before float64
	begun  time.Time
}

func startClock(dir string) *stopwatch {
	s := &stopwatch{path: filepath.Join(dir, "elapsed.json"), begun: time.Now()}
	if content, err := os.ReadFile(s.path); err == nil {
		_ = json.Unmarshal(content, &s.before) // a damaged file only loses time
	}
	return s
}

func (s *stopwatch) seconds() float64 { return s.before + time.Since(s.begun).Seconds() }

// save keeps the time beside the checkpoint; losing it is no reason to stop.
func (s *stopwatch) save() { _ = writeJSON(s.path, s.seconds()) }

// reason is an error in one line: engine errors carry traces.
func reason(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimRight(first, ":; ")
}
