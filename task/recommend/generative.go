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
	"github.com/gritvq/gritvq/task/recommend/seqrec"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// A depth of 50 leaves out the cutoff of 100: 100 beams take twice the time.
var generativeKind = &Kind{Name: "generative", Purpose: Recommending, Score: "log_probability", Depth: 50, Users: true,
	Default: func() Config { return DefaultGenerative() }}

// Generative configures a model that writes the ID of the next item.
type Generative struct {
	Model           seqrec.Config `yaml:"model" doc:"The network."`
	Train           train.Config  `yaml:"train" doc:"The training run."`
	ValidationUsers int           `yaml:"validation_users" min:"0" doc:"Users scored at an evaluation during training (0: all)."`
	Beam            int           `yaml:"beam" min:"1" doc:"Beams of the search behind an evaluation during training."`
}

// DefaultGenerative is the paper's network and schedule.
func DefaultGenerative() *Generative {
	return &Generative{
		Model: seqrec.Default(), ValidationUsers: 2000, Beam: 20,
		Train: train.Config{
			Seed: 1,
			Loop: train.Loop{
				Steps: 20000, Batch: 256, ClipNorm: 1, Evaluate: 1000, Patience: 5, Log: 100, Checkpoint: 500,
				Best: true, Keep: 2, Schedule: optim.Schedule{Kind: "inverse-sqrt", Warmup: 1000},
			},
			Optimizer: optim.Optimizer{Name: "adamw", Rate: 1e-3, WeightDecay: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
		},
	}
}

// Kind is the kind of model.
func (c *Generative) Kind() *Kind { return generativeKind }

// Training returns the settings of the training run.
func (c *Generative) Training() *train.Config { return &c.Train }

// Validation says how the model is scored.
func (c *Generative) Validation() Validation { return Validation{c.Beam, c.ValidationUsers, c.Beam} }

// Validate reports the first setting that cannot work.
func (c *Generative) Validate() error { return cmp.Or(config.Check(c, ""), c.Train.Validate()) }

// New composes the model.
func (c *Generative) New(size Size) (Model, error) {
	m, err := seqrec.New(c.Model, size.Vocab)
	if err != nil {
		return nil, err
	}
	return generative{m}, nil
}

// generative makes a [Learner] of seqrec's model.
type generative struct{ *seqrec.Model }

func (g generative) String() string {
	return fmt.Sprintf("generative, %d + %d layers of width %d", g.Config.Layers, g.Config.Layers, g.Config.Width)
}

func (g generative) Batches(d *Dataset) (func(examples []Example, room int) ([]*tensors.Tensor, error), error) {
	items, err := network.NewItems(d.Table.IDs(), d.Table.Vocab())
	if err != nil {
		return nil, err
	}
	return func(examples []Example, room int) ([]*tensors.Tensor, error) {
		return g.Batch(items, examples, seqrec.Shape{Rows: len(examples), History: room})
	}, nil
}

func (g generative) Ranker(_ context.Context, backend compute.Backend, set weights.Set, c *catalogue.Catalogue, o network.Options) (
	Ranker, error) {
	items, err := network.NewItems(c.IDs(), c.Vocab())
	if err != nil {
		return nil, err
	}
	return seqrec.NewBeamSearch(backend, g.Model, set, items, o)
}
