package recommend

import (
	"context"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/classical"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

var (
	popularityKind  = countedKind("popularity", "interactions", classical.Popularity{})
	itemKNNKind     = countedKind("itemknn", "similarity", classical.DefaultItemKNN())
	transitionsKind = countedKind("transitions", "transitions", classical.DefaultTransitions())
	easeKind        = countedKind("ease", "regression", classical.DefaultEASE())
)

func countedKind[M classical.Method](name, score string, m M) *Kind {
	k := &Kind{Name: name, Purpose: Recommending, Score: score, Depth: 100}
	k.Default = func() Config { return &Counted[M]{Model: m, Choose: true, ValidationUsers: 1000, kind: k} }
	return k
}

// Counted configures a classical recommender.
type Counted[M classical.Method] struct {
	Model           M    `yaml:"model" doc:"The method."`
	Choose          bool `yaml:"choose" doc:"Compare settings by NDCG@10 on validation users and take the best, unless --set gives some."`
	ValidationUsers int  `yaml:"validation_users" min:"0" doc:"Users that settings are compared on (0: all)."`
	kind            *Kind
}

// Kind is the kind of model.
func (c *Counted[M]) Kind() *Kind { return c.kind }

// Training is nil: counting takes no steps.
func (c *Counted[M]) Training() *train.Config { return nil }

// Validation says how the model is scored.
func (c *Counted[M]) Validation() Validation {
	return Validation{Depth: 20, Limit: c.ValidationUsers, Final: 100}
}

// Validate reports the first setting that cannot work.
func (c *Counted[M]) Validate() error { return config.Check(c, "") }

// Fix keeps settings as they are.
func (c *Counted[M]) Fix() { c.Choose = false }

// New returns the model, which does not depend on IDs.
func (c *Counted[M]) New(Size) (Model, error) { return &counted[M]{c}, nil }

// counted makes a [Fitter] of a classical method.
type counted[M classical.Method] struct{ config *Counted[M] }

func (m *counted[M]) String() string { return m.config.Model.String() }

// Fit counts, and chooses settings, which it writes to the configuration.
func (m *counted[M]) Fit(ctx context.Context, d *Dataset) (weights.Set, error) {
	c := m.config
	if !c.Choose {
		fitted, err := c.Model.Fit(ctx, d.counted())
		if err != nil {
			return nil, err
		}
		return m.pack(fitted, d), nil
	}
	method, fitted, err := chooseMethod(ctx, d, c.Model, c.ValidationUsers)
	if err != nil {
		return nil, err
	}
	c.Model = method.(M)
	return m.pack(fitted, d), nil
}

// popularityPath are the interactions of each item, by which tied items are listed.
const popularityPath = "popularity"

func (m *counted[M]) pack(fitted classical.Fitted, d *Dataset) weights.Set {
	set := fitted.Pack()
	set[popularityPath] = &weights.Array{Shape: []int{d.Table.Len()}, Data: d.popularity()}
	return set
}

// Ranker scores all items.
func (m *counted[M]) Ranker(
	_ context.Context, _ compute.Backend, set weights.Set, c *catalogue.Catalogue, o network.Options,
) (Ranker, error) {
	scorer, err := m.config.Model.Load(set, c.Len())
	if err != nil {
		return nil, err
	}
	counts := make([]float32, c.Len()) // items that were added since have none
	if stored := set[popularityPath]; stored != nil {
		copy(counts, stored.Data)
	}
	return historyRanker(scorer, counts, o.ExcludeSeen), nil
}

// counted is the training part of the log.
func (d *Dataset) counted() classical.Log {
	log := classical.Log{Items: d.Table.Len()}
	for _, c := range d.cases[TrainPart] {
		log.Users = append(log.Users, c.History)
	}
	return log
}

// popularity is the number of training interactions of each row.
func (d *Dataset) popularity() []float32 {
	counts := make([]float32, d.Table.Len())
	for row, n := range d.seen {
		counts[row] = float32(n)
	}
	return counts
}

// chooseMethod chooses the settings of a method by NDCG@10 of validation questions,
// at most so many.
func chooseMethod(ctx context.Context, d *Dataset, m classical.Method, limit int) (classical.Method, classical.Fitted, error) {
	return classical.Choose(ctx, d.counted(), m, func(s classical.Scorer) (float64, error) { return d.validate(ctx, s, limit) })
}

// validate is NDCG@10 of a scorer on validation questions, at most so many.
func (d *Dataset) validate(ctx context.Context, s classical.Scorer, limit int) (float64, error) {
	cases := d.Cases(ValidationPart, limit)
	ranks, err := historyRanker(s, make([]float32, d.Table.Len()), d.dropsSeen()).Ranks(ctx, cases)
	sum := 0.0
	for _, own := range ranks {
		sum += eval.NDCG.Score(int32s(own), 10)
	}
	return sum / float64(max(1, len(cases))), err
}

// historyRanker ranks items by a history.
func historyRanker(s classical.Scorer, counts []float32, excludeSeen bool) *dense {
	score := func(q Question, scores []float32) { s.Score(q.History, scores) }
	return &dense{items: len(counts), counts: counts, excludeSeen: excludeSeen, each: eachQuestion(len(counts), score)}
}

func int32s(ranks []int) []int32 {
	list := make([]int32, len(ranks))
	for i, rank := range ranks {
		list[i] = int32(rank)
	}
	return list
}
