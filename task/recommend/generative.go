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

// A depth of 50 leaves out the cutoff of 100: so many beams take twice the time.
var generativeKind = &Kind{Name: "generative", Purpose: Recommending, Score: "log_probability", Depth: 50, Users: true,
	Default: func() Config { c := DefaultGenerative(); return &c }}

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

// Kind is the kind of model.
func (c *Generative) Kind() *Kind { return generativeKind }

// Training returns the settings of the training run.
func (c *Generative) Training() *train.Config { return &c.Train }

// Validation says how the model is scored.
func (c *Generative) Validation() Validation { return Validation{c.Beam, c.ValidationUsers, c.Beam} }

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

// generative makes a [Learner] of seqrec's model.
type generative struct{ *seqrec.Model }

func (g generative) String() string {
	return fmt.Sprintf("generative, %d + %d layers of width %d", g.Config.Layers, g.Config.Layers, g.Config.Width)
}

func (g generative) Batches(d *Dataset) (func(examples []Example, room int) ([]*tensors.Tensor, error), error) {
	items, err := seqrec.NewItems(d.Table.IDs(), d.Table.Vocab())
	if err != nil {
		return nil, err
	}
	return func(examples []Example, room int) ([]*tensors.Tensor, error) {
		own := make([]seqrec.Example, len(examples))
		for i, e := range examples {
			own[i] = seqrec.Example{Query: seqrec.Query{User: e.Name, History: e.History}, Target: e.Target}
		}
		return g.Batch(items, own, seqrec.Shape{Rows: len(own), History: room})
	}, nil
}

func (g generative) Ranker(_ context.Context, backend compute.Backend, set weights.Set, table *catalogue.Table, o RankerOptions) (Ranker, error) {
	items, err := seqrec.NewItems(table.IDs(), table.Vocab())
	if err != nil {
		return nil, err
	}
	width := min(o.Depth, table.Len()) // more beams than items would stay empty
	search, err := seqrec.NewBeamSearch(backend, g.Model, set, items,
		seqrec.SearchOptions{Beam: width, ExcludeSeen: o.ExcludeSeen, Users: o.Questions})
	if err != nil {
		return nil, err
	}
	return beams{search, o.Depth, width}, nil
}

// beams makes a [Ranker] of seqrec's search.
type beams struct {
	*seqrec.BeamSearch
	depth, width int // of the lists that may be asked for, and of the beam
}

func (b beams) Update(_ context.Context, set weights.Set) error { return b.BeamSearch.Update(set) }

func (b beams) Top(ctx context.Context, questions []Question, k int) ([][]Scored, error) {
	if k > b.depth {
		return nil, tooDeep(k, b.depth)
	}
	queries := make([]seqrec.Query, len(questions))
	for i, q := range questions {
		queries[i] = seqrec.Query{User: q.Name, History: q.History}
	}
	found, err := b.Recommend(ctx, queries, min(k, b.width))
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

// tooDeep is the error of a question for more items than a ranker prepared for.
func tooDeep(k, depth int) error {
	return fmt.Errorf("%d items were asked for, the search was prepared for 1 to %d", k, depth)
}
