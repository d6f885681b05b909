package prior

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/prior/gpt"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// version changes with the training of the same settings, so that older checkpoints are
// refused.
const version = 1

// Trained is the result of a training run.
type Trained struct {
	Model   *gpt.Model
	Weights weights.Set
	Seconds float64     // of all sessions
	Scorer  *gpt.Scorer // with these weights; the caller closes it
}

// Train trains a model on a dataset. The weights are those of the best likelihood of the
// validation rows, if there are any.
func Train(ctx context.Context, backend compute.Backend, d *Dataset, c Config, o train.Options) (*Trained, error) {
	m, err := gpt.New(c.Model, d.Layout)
	if err != nil {
		return nil, err
	}
	problem, err := problemOf(m, d, c)
	if err != nil {
		return nil, err
	}
	open := func(_ context.Context, set weights.Set) (*gpt.Scorer, error) { return gpt.NewScorer(backend, m, set) }
	if d.Validation.Len() == 0 {
		result, err := train.Run(ctx, backend, problem, c.Train, o)
		if err != nil {
			return nil, err
		}
		scorer, err := open(ctx, result.Weights)
		return &Trained{m, result.Weights, result.Seconds, scorer}, err
	}
	result, scorer, err := train.RunServing(ctx, backend, problem, c.Train, o, open,
		func(ctx context.Context, scorer *gpt.Scorer) (float64, map[string]float64, error) {
			s, err := measure(ctx, scorer, d.Layout, d.Validation, d.Pixels, nil)
			if err != nil {
				return 0, nil, err
			}
			return -s.NLL, map[string]float64{"nll": s.NLL, "bits_per_token": s.BitsPerToken}, nil
		})
	if err != nil {
		return nil, err
	}
	return &Trained{m, result.Weights, result.Seconds, scorer}, nil
}

// problemOf puts a model and its rows into the form of the training loop.
func problemOf(m *gpt.Model, d *Dataset, c Config) (train.Problem, error) {
	hash, err := config.Hash(c)
	if err != nil {
		return train.Problem{}, err
	}
	batches, err := batchesOf(m, d, c)
	if err != nil {
		return train.Problem{}, err
	}
	return train.Problem{
		Identity: fmt.Sprintf("prior %d %s", version, hash),
		Init:     func(context.Context) (weights.Set, error) { return m.Init(c.Train.Seed), nil },
		Batch:    batches,
		Loss: func(v weights.Vars, inputs []*graph.Node, random *graph.Node) *graph.Node {
			return m.Loss(v, inputs, nn.NewRandom(random))
		},
		Hooks: train.Hooks{Group: m.Group},
	}, nil
}

// batchesOf draws training rows. With a share ClassDropout the class of a row is hidden.
func batchesOf(m *gpt.Model, d *Dataset, c Config) (func(step int64) ([]*tensors.Tensor, error), error) {
	sampler, err := dataset.NewSampler(dataset.All(d.Train.Len()), c.Train.Batch, c.Train.Seed)
	if err != nil {
		return nil, err
	}
	return func(step int64) ([]*tensors.Tensor, error) {
		chosen := make([]int, c.Train.Batch)
		sampler.Batch(step, chosen)
		var rows Rows
		for _, i := range chosen {
			rows.add(d.Train, i, d.Layout)
		}
		if d.Layout.Classes > 0 {
			rng := weights.Rand(c.Train.Seed, fmt.Sprintf("classes of step %d", step))
			for i := range rows.Starts {
				if rng.Float64() < c.Model.ClassDropout {
					rows.Starts[i] = d.Layout.NoClass()
				}
			}
		}
		return m.Batch(rows.Starts, rows.Codes), nil
	}, nil
}
