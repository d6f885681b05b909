package prior

import (
	"cmp"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/task/prior/gpt"
	"github.com/gritvq/gritvq/train"
)

// Config describes a prior and its training.
type Config struct {
	Model      gpt.Config   `yaml:"model" doc:"The network."`
	Train      train.Config `yaml:"train" doc:"The training run."`
	Flips      bool         `yaml:"flips" doc:"Pictures: also learn from the codes of every picture mirrored."`
	Validation float64      `yaml:"validation" min:"0" below:"1" doc:"Share of the pictures or rows held out to choose weights by."`
}

// Default returns the settings for an engine that compiles, which means a GPU, or for
// a few cores: a smaller network, fewer steps, smaller batches.
func Default(compiled bool) Config {
	c := Config{Model: gpt.Default(), Flips: true, Validation: 0.05, Train: train.Config{
		Seed: 1,
		Loop: train.Loop{Steps: 10000, Batch: 64, ClipNorm: 1, Evaluate: 500, Best: true, Log: 20, Checkpoint: 500, Keep: 2,
			Schedule: optim.Schedule{Kind: "cosine", Warmup: 500, Floor: 0.05}},
		Optimizer: optim.Optimizer{Name: "adamw", Rate: 5e-4, WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8},
	}}
	if !compiled {
		c.Model = gpt.Small()
		c.Train.Steps, c.Train.Batch, c.Train.Evaluate, c.Train.Checkpoint, c.Train.Schedule.Warmup = 2000, 16, 200, 200, 100
		c.Train.Optimizer.Rate = 2e-3
	}
	return c
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	return cmp.Or(config.Check(c, ""), c.Model.Validate(), c.Train.Validate())
}

// Settings make a configuration: defaults of the engine < File < Set.
type Settings struct {
	File string   // in YAML; may be empty
	Set  []string // assignments, such as model.dropout=0.2
}

// Config returns the configuration. A short run evaluates and warms up in proportion
// unless file or assignments say otherwise. Errors are of usage.
func (s Settings) Config(compiled bool) (Config, error) {
	c := Default(compiled)
	preset := c
	if s.File != "" {
		document, err := memory.ReadFile(s.File)
		if err != nil {
			return c, usage.Errorf("cannot read the configuration: %w", err)
		}
		if err := config.Decode(document, &c); err != nil {
			return c, usage.Errorf("%s: %w", s.File, err)
		}
	}
	for _, assignment := range s.Set {
		if err := config.Set(&c, assignment); err != nil {
			return c, usage.Errorf("--set %s: %w", assignment, err)
		}
	}
	t := &c.Train
	if t.Evaluate == preset.Train.Evaluate && !config.Assigns(s.Set, "train.evaluate") {
		t.Evaluate = max(1, min(t.Evaluate, t.Steps/4))
	}
	if t.Schedule.Warmup == preset.Train.Schedule.Warmup && !config.Assigns(s.Set, "train.schedule.warmup") {
		t.Schedule.Warmup = min(t.Schedule.Warmup, max(1, t.Steps/10))
	}
	if err := c.Validate(); err != nil {
		return c, usage.Error{Err: err}
	}
	return c, nil
}

// Sized says whether file or assignments choose the size of the network.
func (s Settings) Sized() bool {
	return s.File != "" || config.Assigns(s.Set, "model.layers") || config.Assigns(s.Set, "model.width")
}
