package recommender

import (
	"context"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/learn"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"
)

// TrainOptions say where a training run happens.
type TrainOptions struct {
	Dir    string // holds the checkpoint and the log
	Data   string // names the data: a checkpoint of other data is refused
	Resume bool   // continues the directory's checkpoint if there is one
	Watch  learn.Observer
}

// Trained is what training came to.
type Trained struct {
	Model    Model
	Weights  weights.Set
	Searcher Searcher // with these weights, for lists as long as at validation; the caller closes it
}

// Train learns to continue the sequences of a dataset. Early stopping goes by
// NDCG@10 of the validation items.
func Train(ctx context.Context, backend compute.Backend, d *Dataset, c Config, o TrainOptions) (*Trained, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m, err := c.New(d.Table.Vocab())
	if err != nil {
		return nil, err
	}
	training := *c.Training()
	batches, err := d.batches(m, training.Batch, training.Seed)
	if err != nil {
		return nil, err
	}
	hash, err := config.Hash(c)
	if err != nil {
		return nil, err
	}
	var searcher Searcher // compiled once for all evaluations
	use := func(ctx context.Context, set weights.Set) (err error) {
		if searcher != nil {
			return searcher.Update(ctx, set)
		}
		searcher, err = m.Searcher(ctx, backend, set, d.Table, SearchOptions{Depth: c.Validation().Depth})
		return err
	}
	problem := learn.Problem{
		Identity: hash + " " + c.Kind() + " " + o.Data,
		Init:     func() weights.Set { return m.Init(training.Seed) },
		Batch:    batches,
		Loss: func(v weights.Vars, inputs []*graph.Node, random *graph.Node) *graph.Node {
			return m.Loss(v, inputs, nn.NewRandom(random))
		},
		Evaluate: func(ctx context.Context, set weights.Set) (float64, map[string]float64, error) {
			if err := use(ctx, set); err != nil {
				return 0, nil, err
			}
			r, err := Rank(ctx, searcher, d, Validation, c.Validation())
			if err != nil {
				return 0, nil, err
			}
			scores := r.Mean(10)
			return scores.NDCG, map[string]float64{"recall@10": scores.Recall, "ndcg@10": scores.NDCG}, nil
		},
	}
	set, err := learn.Run(ctx, backend, problem, training, o.Dir, o.Resume, o.Watch)
	if err == nil {
		err = use(ctx, set)
	}
	if err != nil {
		if searcher != nil {
			searcher.Close()
		}
		return nil, err
	}
	return &Trained{Model: m, Weights: set, Searcher: searcher}, nil
}
