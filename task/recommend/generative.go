package recommend

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/seqrec"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// Generative configures a model that writes the ID of the next item.
type Generative struct {
	Model           seqrec.Config `yaml:"model" doc:"The network."`
	Train           train.Config  `yaml:"train" doc:"The training run."`
	ValidationUsers int           `yaml:"validation_users" doc:"Users scored at an evaluation during training (0: all)."`
	Beam            int           `yaml:"beam" doc:"Beams of the search behind an evaluation during training."`
}

// DefaultGenerative is the paper's network and schedule.
func DefaultGenerative() Generative {
	return Generative{
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

// Kind names the kind of model.
func (c *Generative) Kind() string { return "generative" }

// Training is how the model is trained.
func (c *Generative) Training() *train.Config { return &c.Train }

// Validation is how the model is scored during training.
func (c *Generative) Validation() RankOptions {
	return RankOptions{Depth: c.Beam, Users: c.ValidationUsers}
}

// Validate reports the first setting that cannot work.
func (c *Generative) Validate() error {
	if c.ValidationUsers < 0 || c.Beam < 1 {
		return fmt.Errorf("validation_users must not be negative and beam at least 1")
	}
	if err := c.Model.Validate(); err != nil {
		return err
	}
	return c.Train.Validate()
}

// New composes the model.
func (c *Generative) New(vocab []int) (Model, error) {
	m, err := seqrec.New(c.Model, vocab)
	if err != nil {
		return nil, err
	}
	return generative{m}, nil
}

// generative is seqrec's model as a recommender.
type generative struct{ *seqrec.Model }

func (g generative) String() string {
	return fmt.Sprintf("generative, %d + %d layers of width %d", g.Config.Layers, g.Config.Layers, g.Config.Width)
}

func (g generative) History() int { return g.Config.History }

func (g generative) Score() string { return "log_probability" }

// Depth leaves out the cutoff of 100: so many beams take twice the time of 50.
func (g generative) Depth() int { return 50 }

func (g generative) Batches(d *Dataset) (func(examples []Example, room int) ([]*tensors.Tensor, error), error) {
	items, err := seqrec.NewItems(d.Table.IDs(), d.Table.Vocab())
	if err != nil {
		return nil, err
	}
	return func(examples []Example, room int) ([]*tensors.Tensor, error) {
		own := make([]seqrec.Example, len(examples))
		for i, e := range examples {
			own[i] = seqrec.Example{Query: seqrec.Query(e.Query), Target: e.Target}
		}
		return g.Batch(items, own, seqrec.Shape{Rows: len(own), History: room})
	}, nil
}

func (g generative) Searcher(_ context.Context, backend compute.Backend, set weights.Set, table *catalogue.Table, o SearchOptions) (Searcher, error) {
	if o.Index != "" || o.Effort != 0 {
		return nil, fmt.Errorf("a generative recommender has no index to search; more beams find more")
	}
	items, err := seqrec.NewItems(table.IDs(), table.Vocab())
	if err != nil {
		return nil, err
	}
	width := min(o.Depth, table.Len()) // more beams than items would stay empty
	s, err := seqrec.NewSearcher(backend, g.Model, set, items, seqrec.SearchOptions{Beam: width, ExcludeSeen: o.ExcludeSeen, Users: o.Users})
	if err != nil {
		return nil, err
	}
	return beams{s, o.Depth, width}, nil
}

// beams is seqrec's searcher as one of recommenders.
type beams struct {
	*seqrec.Searcher
	depth, width int // of the lists that may be asked for, and of the beam
}

func (b beams) Update(_ context.Context, set weights.Set) error { return b.Searcher.Update(set) }

func (b beams) Recommend(ctx context.Context, queries []Query, k int) ([][]Scored, error) {
	if k > b.depth {
		return nil, fmt.Errorf("%d items were asked for, the search was prepared for 1 to %d", k, b.depth)
	}
	own := make([]seqrec.Query, len(queries))
	for i, q := range queries {
		own[i] = seqrec.Query(q)
	}
	found, err := b.Searcher.Recommend(ctx, own, min(k, b.width))
	if err != nil {
		return nil, err
	}
	lists := make([][]Scored, len(found))
	for i, list := range found {
		for _, item := range list {
			lists[i] = append(lists[i], Scored{Item: item.Item, Score: item.LogProbability})
		}
	}
	return lists, nil
}
