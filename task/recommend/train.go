package recommend

import (
	"context"
	"fmt"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// Trained is the result of a training run.
type Trained struct {
	Model   Model
	Weights weights.Set
	Seconds float64 // of all sessions
	Ranker  Ranker  // with these weights, for lists of the final validation; the caller closes it
}

// Train trains a model on a dataset. Early stopping uses NDCG@10 of the questions
// for validation.
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
	v := c.Validation()
	open := func(ctx context.Context, set weights.Set) (Ranker, error) {
		return m.Ranker(ctx, backend, set, d.catalogue(), network.Options{Depth: max(v.Depth, v.Final), ExcludeSeen: d.dropsSeen()})
	}
	switch m := m.(type) {
	case Fitter:
		begun := time.Now()
		set, err := m.Fit(ctx, d)
		if err != nil {
			return nil, err
		}
		ranker, err := open(ctx, set)
		return &Trained{m, set, time.Since(begun).Seconds(), ranker}, err
	case Learner:
		problem, err := problemOf(m, d, c)
		if err != nil {
			return nil, err
		}
		score := func(ctx context.Context, ranker Ranker) (float64, map[string]float64, error) {
			r, err := Rank(ctx, ranker, d, ValidationPart, v.Depth, v.Limit, task.Silent{})
			if err != nil {
				return 0, nil, err
			}
			scores := r.Mean(10)
			return scores.NDCG, map[string]float64{"recall@10": scores.Recall, "ndcg@10": scores.NDCG}, nil
		}
		result, ranker, err := train.RunServing(ctx, backend, problem, *c.Training(), o, open, score)
		if err != nil {
			return nil, err
		}
		return &Trained{m, result.Weights, result.Seconds, ranker}, nil
	}
	return nil, fmt.Errorf("a %s model can neither be trained nor fitted", c.Kind().Name)
}

// problemOf puts a model and its data into the form of the training loop.
func problemOf(m Learner, d *Dataset, c Config) (train.Problem, error) {
	seed := c.Training().Seed
	batches, err := d.batches(m, c.Training().Batch, seed)
	if err != nil {
		return train.Problem{}, err
	}
	hash, err := config.Hash(c)
	if err != nil {
		return train.Problem{}, err
	}
	return train.Problem{
		Identity: fmt.Sprintf("%s %s %d", hash, c.Kind().Name, Schema),
		Init:     func() (weights.Set, error) { return m.Init(seed), nil },
		Batch:    batches,
		Loss: func(v weights.Vars, inputs []*graph.Node, random *graph.Node) *graph.Node {
			return m.Loss(v, inputs, nn.NewRandom(random))
		},
	}, nil
}
