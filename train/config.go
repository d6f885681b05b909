// Package train trains any model that is a loss over named variables: the step,
// its safeguards, weight averages, the log, checkpoints from which a killed run
// ends as an uninterrupted one, evaluation and early stopping.
package train

import (
	"fmt"

	"github.com/gritvq/gritvq/optim"
)

// Config is how a model is trained.
type Config struct {
	Seed      uint64 `yaml:"seed" doc:"Decides initial weights, the order of the data and dropout."`
	Loop      `yaml:",inline"`
	Optimizer optim.Optimizer `yaml:"optimizer" doc:"How gradients become steps."`
}

// Loop holds the settings that all training runs share.
type Loop struct {
	Steps      int            `yaml:"steps" doc:"Training steps."`
	Batch      int            `yaml:"batch" doc:"Examples a step."`
	ClipNorm   float64        `yaml:"clip_norm" doc:"Bound on the global norm of the gradient (0: none)."`
	Average    float64        `yaml:"average" doc:"Decay of the weight average used for evaluation and export (0: none)."`
	Evaluate   int            `yaml:"evaluate" doc:"Steps between evaluations (0: only at the end)."`
	Patience   int            `yaml:"patience" doc:"Stop after this many evaluations without improvement (0: never)."`
	Flat       float64        `yaml:"flat" doc:"Stop when evaluations have been flat, within 0.1 %, for this share of the steps (0: never)."`
	Best       bool           `yaml:"best" doc:"Export the weights of the best evaluation instead of the last ones."`
	Log        int            `yaml:"log" doc:"Steps between records of log.jsonl."`
	Checkpoint int            `yaml:"checkpoint" doc:"Steps between checkpoints; after three minutes there is one in any case."`
	Keep       int            `yaml:"keep" doc:"Checkpoints kept: the newest, and older ones in case it is damaged."`
	Schedule   optim.Schedule `yaml:"schedule" doc:"The learning rate over time."`
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if err := c.Loop.Validate(); err != nil {
		return err
	}
	if err := c.Optimizer.Validate(); err != nil {
		return fmt.Errorf("train.%w", err)
	}
	return nil
}

// Validate reports the first setting that cannot work.
func (l Loop) Validate() error {
	switch {
	case l.Steps < 1:
		return fmt.Errorf("train.steps: %d must be at least 1", l.Steps)
	case l.Batch < 1:
		return fmt.Errorf("train.batch: %d must be at least 1", l.Batch)
	case l.Average < 0 || l.Average >= 1:
		return fmt.Errorf("train.average: %g must be at least 0 and below 1", l.Average)
	case l.ClipNorm < 0 || l.Evaluate < 0 || l.Patience < 0 || l.Keep < 0:
		return fmt.Errorf("train: clip_norm, evaluate, patience and keep must not be negative")
	case !(l.Flat >= 0 && l.Flat <= 1):
		return fmt.Errorf("train.flat: %g must be at least 0 and at most 1", l.Flat)
	case l.Log < 1 || l.Checkpoint < 1:
		return fmt.Errorf("train: log and checkpoint must be at least 1")
	}
	if err := l.Schedule.Validate(); err != nil {
		return fmt.Errorf("train.%w", err)
	}
	return nil
}
