// Package learn trains any model that is a loss over named variables: the loop,
// its safeguards, checkpoints from which a killed run ends as an uninterrupted
// one, evaluation and early stopping. Tokenizers, whose codes need more care,
// have a loop of their own in package fit.
package train

import (
	"context"
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/weights"
)

// Config is how a model is trained.
type Config struct {
	Seed       uint64          `yaml:"seed" doc:"Decides initial weights, the order of the data and dropout."`
	Steps      int             `yaml:"steps" doc:"Training steps."`
	Batch      int             `yaml:"batch" doc:"Examples a step."`
	Optimizer  optim.Optimizer `yaml:"optimizer" doc:"How gradients become steps."`
	Schedule   optim.Schedule  `yaml:"schedule" doc:"The learning rate over time."`
	ClipNorm   float64         `yaml:"clip_norm" doc:"Bound on the global norm of the gradient (0: none)."`
	Average    float64         `yaml:"average" doc:"Decay of the weight average used for evaluation and export (0: none)."`
	Evaluate   int             `yaml:"evaluate" doc:"Steps between evaluations (0: only at the end)."`
	Patience   int             `yaml:"patience" doc:"Stop after this many evaluations without improvement (0: never); the best weights are exported."`
	Log        int             `yaml:"log" doc:"Steps between records of log.jsonl."`
	Checkpoint int             `yaml:"checkpoint" doc:"Steps between checkpoints; after three minutes there is one in any case."`
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	switch {
	case c.Steps < 1 || c.Batch < 1:
		return fmt.Errorf("train: steps and batch must be at least 1, not %d and %d", c.Steps, c.Batch)
	case c.Average < 0 || c.Average >= 1:
		return fmt.Errorf("train.average: %g must be at least 0 and below 1", c.Average)
	case c.ClipNorm < 0 || c.Evaluate < 0 || c.Patience < 0:
		return fmt.Errorf("train: clip_norm, evaluate and patience must not be negative")
	case c.Log < 1 || c.Checkpoint < 1:
		return fmt.Errorf("train: log and checkpoint must be at least 1")
	}
	if err := c.Optimizer.Validate(); err != nil {
		return fmt.Errorf("train.%w", err)
	}
	if err := c.Schedule.Validate(); err != nil {
		return fmt.Errorf("train.%w", err)
	}
	return nil
}

// Problem is a model and what it learns from.
type Problem struct {
	// Identity names the model and its settings: a checkpoint of others is refused.
	Identity string
	// Init returns the first variables; those of the group State are not trained.
	Init func() weights.Set
	// Batch returns the inputs of a step; it depends on the step alone.
	Batch func(step int64) ([]*tensors.Tensor, error)
	// Loss builds the scalar to be made small. random is the engine's random
	// state of the step, for dropout.
	Loss func(v weights.Vars, inputs []*graph.Node, random *graph.Node) *graph.Node
	// Evaluate scores variables; the first number is to become large. It may be
	// nil.
	Evaluate func(ctx context.Context, set weights.Set) (score float64, all map[string]float64, err error)
}

// Record is one line of log.jsonl.
type Record struct {
	Step         int                `json:"step"`
	Loss         float64            `json:"loss"`
	GradientNorm float64            `json:"gradient_norm"`
	Rate         float64            `json:"rate"`
	Skipped      int                `json:"skipped"` // steps without a finite gradient so far
	Scores       map[string]float64 `json:"scores,omitempty"`
	Event        string             `json:"event,omitempty"`
}

// Options say where a run happens.
type Options struct {
	Dir    string // holds the checkpoint and the log
	Data   string // names the data: a checkpoint of other data is refused
	Resume bool   // continues the directory's checkpoint if there is one
	Watch  Observer
}

// Result is what a run came to.
type Result struct {
	Weights weights.Set // the best by evaluation, or the last
	Seconds float64     // that it took, however often it was stopped
}

// Observer watches a run. Any field may be nil.
type Observer struct {
	Step   func(r Record)    // after every step
	Status func(text string) // what takes a while before the next step
}
