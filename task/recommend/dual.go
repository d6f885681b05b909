package recommend

import (
	"fmt"

	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/task/recommend/twotower"
	"github.com/gritvq/gritvq/train"
)

var dualKind = &Kind{Name: "dual", Purpose: Recommending, Score: "inner_product", Depth: 100, Index: true,
	Default: func() Config { c := DefaultDual(); return &c }}

// Dual configures a model that compares vectors of histories and items.
type Dual struct {
	Model           twotower.Config `yaml:"model" doc:"The two networks."`
	Train           train.Config    `yaml:"train" doc:"The training run."`
	ValidationUsers int             `yaml:"validation_users" doc:"Users scored at an evaluation during training (0: all)."`
}

// DefaultDual is the paper's network and schedule, but for its 100,000 steps.
func DefaultDual() Dual { return Dual{Model: twotower.Default(), Train: towersTraining()} }

// towersTraining is how both kinds of two towers are trained.
func towersTraining() train.Config {
	return train.Config{
		Seed: 1,
		Loop: train.Loop{
			Steps: 20000, Batch: 512, ClipNorm: 1, Evaluate: 1000, Patience: 5, Log: 100, Checkpoint: 500,
			Best: true, Keep: 2, Schedule: optim.Schedule{Kind: "cosine", Warmup: 2000},
		},
		Optimizer: optim.Optimizer{Name: "adamw", Rate: 1e-3, WeightDecay: 1e-4, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
	}
}

// Kind is the kind of model.
func (c *Dual) Kind() *Kind { return dualKind }

// Training returns the settings of the training run.
func (c *Dual) Training() *train.Config { return &c.Train }

// Validation says how the model is scored.
func (c *Dual) Validation() Validation { return Validation{20, c.ValidationUsers, 20} }

// Validate reports the first setting that cannot work.
func (c *Dual) Validate() error {
	if c.ValidationUsers < 0 {
		return fmt.Errorf("validation_users must not be negative")
	}
	return validTowers(c.Model, c.Train)
}

// New composes the model.
func (c *Dual) New(vocab []int) (Model, error) { return newTowers(c.Model, twotower.Histories, vocab) }
