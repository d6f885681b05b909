package recommend

import (
	"context"
	"fmt"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/eval"
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
	p, err := prepare(ctx, d, c)
	if err != nil {
		return nil, err
	}
	return p.train(ctx, backend, o)
}

// prepared is a model that is about to be trained.
type prepared struct {
	data   *Dataset
	config Config
	model  Model
	prior  *Prior // that it starts from, or nil
}

// prepare composes a model for a dataset and fits what it starts from.
func prepare(ctx context.Context, d *Dataset, c Config) (*prepared, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := d.Trainable(); err != nil {
		return nil, err
	}
	p := &prepared{data: d, config: c}
	var err error
	if s, ok := c.(starting); ok {
		if p.prior, err = s.Start(ctx, d); err != nil {
			return nil, err
		}
	}
	if p.model, err = c.New(sizeOf(d.Table)); err != nil {
		return nil, err
	}
	if s, ok := p.model.(starter); ok {
		s.start(p.prior)
	}
	return p, nil
}

// train trains or fits the model.
func (p *prepared) train(ctx context.Context, backend compute.Backend, o train.Options) (*Trained, error) {
	d, v := p.data, p.config.Validation()
	open := func(ctx context.Context, set weights.Set) (Ranker, error) {
		o := network.Options{Depth: max(v.Depth, v.Final), ExcludeSeen: d.dropsSeen()}
		return p.model.Ranker(ctx, backend, p.prior.joined(set), d.catalogue(), o)
	}
	switch m := p.model.(type) {
	case Fitter:
		begun := time.Now()
		set, err := m.Fit(ctx, d)
		if err != nil {
			return nil, err
		}
		ranker, err := open(ctx, set)
		return &Trained{m, set, time.Since(begun).Seconds(), ranker}, err
	case Learner:
		problem, err := problemOf(m, d, p.config)
		if err != nil {
			return nil, err
		}
		problem.FromStart = p.prior != nil
		score := func(ctx context.Context, ranker Ranker) (float64, map[string]float64, error) {
			_, s, err := p.validate(ctx, ranker)
			return s.NDCG, map[string]float64{"recall@10": s.Recall, "ndcg@10": s.NDCG}, err
		}
		result, ranker, err := train.RunServing(ctx, backend, problem, *p.config.Training(), o, open, score)
		if err != nil {
			return nil, err
		}
		set, err := p.shrunk(ctx, ranker, result.Weights)
		if err != nil {
			ranker.Close()
			return nil, err
		}
		return &Trained{m, p.prior.joined(set), result.Seconds, ranker}, nil
	}
	return nil, fmt.Errorf("a %s model can neither be trained nor fitted", p.config.Kind().Name)
}

// shares are the factors of what was learned beside a prior that validation compares.
// Training sees histories that are shorter, and users whom the prior does not know: it
// trusts what it learned more than is good later.
var shares = []float64{1, 0.5, 0.25}

// validate scores a ranker on validation questions, with the best factor of what was
// learned beside a prior.
func (p *prepared) validate(ctx context.Context, ranker Ranker) (factor float64, best eval.RankingScores, err error) {
	v, factors := p.config.Validation(), shares[:1]
	m, shrinks := p.model.(shrinker)
	if shrinks && p.prior != nil {
		factors = shares
	}
	for _, share := range factors {
		if shrinks {
			m.shrink(ranker, share)
		}
		r, err := Rank(ctx, ranker, p.data, ValidationPart, v.Depth, v.Limit, task.Silent{})
		if err != nil {
			return 0, best, err
		}
		if s := r.Mean(10); factor == 0 || s.NDCG > best.NDCG {
			factor, best = share, s
		}
	}
	return factor, best, nil
}

// shrunk are the variables with the best factor, in the ranker too.
func (p *prepared) shrunk(ctx context.Context, ranker Ranker, set weights.Set) (weights.Set, error) {
	m, ok := p.model.(shrinker)
	if !ok || p.prior == nil {
		return set, nil
	}
	factor, _, err := p.validate(ctx, ranker)
	if err != nil {
		return nil, err
	}
	m.shrink(ranker, 1)
	set = m.shrunk(set, factor)
	return set, ranker.Update(ctx, set)
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
		Init:     func(context.Context) (weights.Set, error) { return m.Init(seed), nil },
		Batch:    batches,
		Loss: func(v weights.Vars, inputs []*graph.Node, random *graph.Node) *graph.Node {
			return m.Loss(v, inputs, nn.NewRandom(random))
		},
	}, nil
}
