package recommend

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/task/recommend/twotower"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

var dualKind = &Kind{Name: "dual", Purpose: Recommending, Score: "inner_product", Depth: 100, Index: true,
	Default: func() Config { return DefaultDual() }}

// Dual configures a model that compares vectors of histories and items.
type Dual struct {
	Towers          `yaml:",inline"`
	ValidationUsers int `yaml:"validation_users" min:"0" doc:"Users scored at an evaluation during training (0: all)."`
}

// DefaultDual is the paper's network and schedule, with fewer than its 100,000 steps.
func DefaultDual() *Dual { return &Dual{Towers: defaultTowers()} }

// Kind is the kind of model.
func (c *Dual) Kind() *Kind { return dualKind }

// Validation says how the model is scored.
func (c *Dual) Validation() Validation { return Validation{20, c.ValidationUsers, 20} }

// Validate reports the first setting that cannot work.
func (c *Dual) Validate() error { return cmp.Or(config.Check(c, ""), c.Towers.validate()) }

// New composes the model.
func (c *Dual) New(vocab []int) (Model, error) {
	return newTowers(dualKind, c.Model, twotower.Histories, vocab)
}

var searchKind = &Kind{Name: "search", Purpose: Searching, Score: "inner_product", Depth: 100, Index: true,
	Default: func() Config { return DefaultSearch() }}

// Search configures a model that compares vectors of texts and items.
type Search struct {
	Towers `yaml:",inline"`
}

// DefaultSearch is the paper's network and schedule, with fewer than its 100,000 steps.
func DefaultSearch() *Search {
	c := &Search{Towers: defaultTowers()}
	c.Model.Length = 16
	return c
}

// Kind is the kind of model.
func (c *Search) Kind() *Kind { return searchKind }

// Validation says how the model is scored.
func (c *Search) Validation() Validation { return Validation{Depth: 10, Final: 100} }

// Validate reports the first setting that cannot work.
func (c *Search) Validate() error { return cmp.Or(config.Check(c, ""), c.Towers.validate()) }

// New composes the model.
func (c *Search) New(vocab []int) (Model, error) {
	return newTowers(searchKind, c.Model, twotower.Words, vocab)
}

// Towers are the settings that both kinds share.
type Towers struct {
	Model twotower.Config `yaml:"model" doc:"The two networks."`
	Train train.Config    `yaml:"train" doc:"The training run."`
}

func defaultTowers() Towers {
	return Towers{Model: twotower.Default(), Train: train.Config{
		Seed: 1,
		Loop: train.Loop{
			Steps: 20000, Batch: 512, ClipNorm: 1, Evaluate: 1000, Patience: 5, Log: 100, Checkpoint: 500,
			Best: true, Keep: 2, Schedule: optim.Schedule{Kind: "cosine", Warmup: 2000},
		},
		Optimizer: optim.Optimizer{Name: "adamw", Rate: 1e-3, WeightDecay: 1e-4, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
	}}
}

// Training returns the settings of the training run.
func (t *Towers) Training() *train.Config { return &t.Train }

func (t *Towers) validate() error {
	if t.Train.Batch < 2 {
		return fmt.Errorf("train.batch: %d must be at least 2, for items are told from the others of a batch", t.Train.Batch)
	}
	return t.Train.Validate()
}

// towers makes a [Learner] of twotower's model.
type towers struct {
	*twotower.Model
	kind *Kind
}

func newTowers(kind *Kind, c twotower.Config, reads twotower.Reads, vocab []int) (Model, error) {
	m, err := twotower.New(c, reads, vocab)
	if err != nil {
		return nil, err
	}
	return towers{m, kind}, nil
}

func (t towers) String() string {
	return fmt.Sprintf("%s, towers of %d and %d layers of width %d", t.kind.Name, t.Config.Layers, t.Config.ItemLayers, t.Config.Width)
}

// Rooms has one size: an item is told from the others of its batch, which must
// not depend on how long their histories are.
func (t towers) Rooms() []int {
	if t.kind == searchKind {
		return nil
	}
	return []int{t.Config.Length}
}

func (t towers) Batches(d *Dataset) (func(examples []Example, room int) ([]*tensors.Tensor, error), error) {
	items, err := network.NewItems(d.Table.IDs(), d.Table.Vocab())
	if err != nil {
		return nil, err
	}
	return func(examples []Example, _ int) ([]*tensors.Tensor, error) {
		logShares := make([]float32, len(examples))
		for i, e := range examples {
			logShares[i] = float32(math.Log(float64(d.targets[e.Target]) / float64(d.Examples())))
		}
		return t.Batch(items, examples, logShares)
	}, nil
}

func (t towers) Ranker(ctx context.Context, backend compute.Backend, set weights.Set, c *catalogue.Catalogue, o network.Options) (
	Ranker, error) {
	items, err := network.NewItems(c.IDs(), c.Vocab())
	if err != nil {
		return nil, err
	}
	return twotower.NewRetriever(ctx, backend, t.Model, set, items, o)
}
