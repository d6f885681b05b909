package recommend

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/twotower"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// Dual configures a model that compares vectors of histories and items.
type Dual struct {
	Model           twotower.Config `yaml:"model" doc:"The two networks."`
	Train           train.Config    `yaml:"train" doc:"The training run."`
	ValidationUsers int             `yaml:"validation_users" doc:"Users scored at an evaluation during training (0: all)."`
}

// DefaultDual is the paper's network and schedule, but for its 100,000 steps.
func DefaultDual() Dual {
	return Dual{
		Model: twotower.Default(), ValidationUsers: 0,
		Train: train.Config{
			Seed: 1,
			Loop: train.Loop{
				Steps: 20000, Batch: 512, ClipNorm: 1, Evaluate: 1000, Patience: 5, Log: 100, Checkpoint: 500,
				Best: true, Keep: 2, Schedule: optim.Schedule{Kind: "cosine", Warmup: 2000},
			},
			Optimizer: optim.Optimizer{Name: "adamw", Rate: 1e-3, WeightDecay: 1e-4, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
		},
	}
}

// Kind names the kind of model.
func (c *Dual) Kind() string { return "dual" }

// Training is how the model is trained.
func (c *Dual) Training() *train.Config { return &c.Train }

// Validation is how the model is scored during training.
func (c *Dual) Validation() RankOptions {
	return RankOptions{Depth: 20, Users: c.ValidationUsers}
}

// Validate reports the first setting that cannot work.
func (c *Dual) Validate() error {
	switch {
	case c.ValidationUsers < 0:
		return fmt.Errorf("validation_users must not be negative")
	case c.Train.Batch < 2:
		return fmt.Errorf("train.batch: %d must be at least 2, for items are told from the others of a batch", c.Train.Batch)
	}
	if err := c.Model.Validate(); err != nil {
		return err
	}
	return c.Train.Validate()
}

// New composes the model.
func (c *Dual) New(vocab []int) (Model, error) {
	m, err := twotower.New(c.Model, twotower.Histories, vocab)
	if err != nil {
		return nil, err
	}
	return dual{m}, nil
}

// dual is a pair of towers as a recommender.
type dual struct{ *twotower.Model }

func (t dual) String() string {
	return fmt.Sprintf("dual, towers of %d and %d layers of width %d", t.Config.Layers, t.Config.ItemLayers, t.Config.Width)
}

func (t dual) History() int { return t.Config.Length }

func (t dual) Score() string { return "inner_product" }

func (t dual) Depth() int { return 100 }

// Rooms has one size: an item is told from the others of its batch, which must
// not depend on how long their histories are.
func (t dual) Rooms() []int { return []int{t.Config.Length} }

func (t dual) Batches(d *Dataset) (func(examples []Example, room int) ([]*tensors.Tensor, error), error) {
	items, err := t.Items(d.Table.IDs(), d.Table.Vocab())
	if err != nil {
		return nil, err
	}
	counts := d.targets()
	return func(examples []Example, _ int) ([]*tensors.Tensor, error) {
		own := make([]twotower.Example, len(examples))
		for i, e := range examples {
			share := float64(counts[e.Target]) / float64(d.Examples())
			own[i] = twotower.Example{Query: e.History, Target: e.Target, LogShare: float32(math.Log(share))}
		}
		return t.Batch(items, own)
	}, nil
}

func (t dual) Searcher(ctx context.Context, backend compute.Backend, set weights.Set, table *catalogue.Table, o SearchOptions) (Searcher, error) {
	items, err := t.Items(table.IDs(), table.Vocab())
	if err != nil {
		return nil, err
	}
	s, err := twotower.NewSearcher(ctx, backend, t.Model, set, items, twotower.SearchOptions{Index: o.Index, Effort: o.Effort, Queries: o.Users})
	if err != nil {
		return nil, err
	}
	return vectors{s, o}, nil
}

// vectors is a searcher of towers as one of recommenders.
type vectors struct {
	*twotower.Searcher
	options SearchOptions
}

func (v vectors) Recommend(ctx context.Context, queries []Query, k int) ([][]Scored, error) {
	if k < 1 || k > v.options.Depth {
		return nil, fmt.Errorf("%d items were asked for, the search was prepared for 1 to %d", k, v.options.Depth)
	}
	own, wanted := make([]twotower.Query, len(queries)), k
	for i, q := range queries {
		own[i] = q.History
		if v.options.ExcludeSeen {
			wanted = max(wanted, k+len(q.History))
		}
	}
	found, err := v.Nearest(ctx, own, wanted)
	if err != nil {
		return nil, err
	}
	lists := make([][]Scored, len(found))
	for i, list := range found {
		for _, item := range list {
			if len(lists[i]) < k && !(v.options.ExcludeSeen && slices.Contains(queries[i].History, item.Item)) {
				lists[i] = append(lists[i], Scored(item))
			}
		}
	}
	return lists, nil
}
