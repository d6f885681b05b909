package recommend

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/recommend/modeldir"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// Trained is what training came to.
type Trained struct {
	Model    Model
	Weights  weights.Set
	Seconds  float64  // of all sessions
	Searcher Searcher // with these weights, for lists as long as at validation; the caller closes it
}

// Train learns to continue the sequences of a dataset. Early stopping goes by
// NDCG@10 of the validation items.
func Train(ctx context.Context, backend compute.Backend, d *Dataset, c Config, o train.Options) (*Trained, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := d.Trainable(); err != nil {
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
	problem := train.Problem{
		Identity: fmt.Sprintf("%s %s %d", hash, c.Kind(), modeldir.Schema),
		Init:     func() weights.Set { return m.Init(training.Seed) },
		Batch:    batches,
		Loss: func(v weights.Vars, inputs []*graph.Node, random *graph.Node) *graph.Node {
			return m.Loss(v, inputs, nn.NewRandom(random))
		},
	}
	open := func(ctx context.Context, set weights.Set) (Searcher, error) {
		return m.Searcher(ctx, backend, set, d.Table, SearchOptions{Depth: c.Validation().Depth})
	}
	score := func(ctx context.Context, searcher Searcher) (float64, map[string]float64, error) {
		r, err := Rank(ctx, searcher, d, Validation, c.Validation())
		if err != nil {
			return 0, nil, err
		}
		scores := r.Mean(10)
		return scores.NDCG, map[string]float64{"recall@10": scores.Recall, "ndcg@10": scores.NDCG}, nil
	}
	result, searcher, err := train.RunServing(ctx, backend, problem, training, o, open, score)
	if err != nil {
		return nil, err
	}
	return &Trained{Model: m, Weights: result.Weights, Seconds: result.Seconds, Searcher: searcher}, nil
}
