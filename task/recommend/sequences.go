package recommend

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/task/recommend/sasrec"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

var sasrecKind = &Kind{Name: "sasrec", Purpose: Recommending, Score: "inner_product", Depth: 100,
	Default: func() Config { return DefaultSASRec() }}

// SASRec configures a transformer over the items of a history, without their content.
type SASRec struct {
	Model           sasrec.Config `yaml:"model" doc:"The network."`
	Train           train.Config  `yaml:"train" doc:"The training run; an example is a user's whole sequence."`
	ValidationUsers int           `yaml:"validation_users" min:"0" doc:"Users scored at an evaluation during training (0: all)."`
}

// DefaultSASRec is the usual network and schedule.
func DefaultSASRec() *SASRec {
	return &SASRec{Model: sasrec.Default(), ValidationUsers: 2000, Train: train.Config{
		Seed: 1,
		Loop: train.Loop{
			Steps: 20000, Batch: 256, ClipNorm: 1, Evaluate: 500, Patience: 10, Log: 100, Checkpoint: 500,
			Best: true, Keep: 2, Schedule: optim.Schedule{Kind: "constant", Warmup: 100},
		},
		Optimizer: optim.Optimizer{Name: "adamw", Rate: 1e-3, WeightDecay: 0.01, Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-8},
	}}
}

// Kind is the kind of model.
func (c *SASRec) Kind() *Kind { return sasrecKind }

// Training returns the settings of the training run.
func (c *SASRec) Training() *train.Config { return &c.Train }

// Validation says how the model is scored.
func (c *SASRec) Validation() Validation { return Validation{20, c.ValidationUsers, 100} }

// Validate reports the first setting that cannot work.
func (c *SASRec) Validate() error {
	return cmp.Or(config.Check(c, ""), c.Model.Validate(), c.Train.Validate())
}

// New composes the model.
func (c *SASRec) New(size Size) (Model, error) {
	m, err := sasrec.New(c.Model, size.Items)
	if err != nil {
		return nil, err
	}
	return sequences{m}, nil
}

// resize leaves the usual network as it is; the budget alone is fitted.
func (c *SASRec) resize(size int) bool { return size == 0 }

func (c *SASRec) seconds(items int, _ []int, _ func(int) float64) float64 {
	places, compared := float64(c.Train.Batch*c.Model.Length), 2.0
	if c.Model.Loss == "softmax" {
		compared = float64(items)
	}
	score := scoreSeconds + passes*float64(c.Model.Width)/coreSpeed
	return places * (float64(c.Model.Layers)*blockSeconds(c.Model.Blocks) + compared*score)
}

// sequences makes a [Learner] of sasrec's model.
type sequences struct{ *sasrec.Model }

func (s sequences) String() string {
	return fmt.Sprintf("SASRec, %d layers of width %d", s.Config.Layers, s.Config.Width)
}

// whole says that an example is a whole sequence.
func (s sequences) whole() {}

func (s sequences) Batches(*Dataset) (func(examples []Example, room int) ([]*tensors.Tensor, error), error) {
	return s.Batch, nil
}

func (s sequences) Ranker(_ context.Context, backend compute.Backend, set weights.Set, c *catalogue.Catalogue, o network.Options) (
	Ranker, error) {
	scorer, err := sasrec.NewScorer(backend, s.Model, set, c.Len(), o)
	if err != nil {
		return nil, err
	}
	return &scoring{dense{items: c.Len(), counts: make([]float32, c.Len()), excludeSeen: o.ExcludeSeen, each: scorer.Scores}, scorer}, nil
}
