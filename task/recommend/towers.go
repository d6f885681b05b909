package recommend

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

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
	Prior           string `yaml:"prior" enum:"auto|none|blend|transitions|itemknn|ease|popularity"`
	ValidationUsers int    `yaml:"validation_users" min:"0" doc:"Users scored at an evaluation during training (0: all)."`
}

// priorDoc describes the setting prior of recommenders.
const priorDoc = "Classical score that training starts from and adds to: the one that is best on validation users, none, or the one named."

// Docs describes keys.
func (Dual) Docs() map[string]string { return map[string]string{"prior": priorDoc} }

// DefaultDual starts from the best classical score. Its network and schedule are the
// paper's, with fewer than its 100,000 steps.
func DefaultDual() *Dual {
	return &Dual{Towers: defaultTowers(), Prior: autoPrior, ValidationUsers: 2000}
}

// Kind is the kind of model.
func (c *Dual) Kind() *Kind { return dualKind }

// Validation says how the model is scored.
func (c *Dual) Validation() Validation { return Validation{20, c.ValidationUsers, 20} }

// Validate reports the first setting that cannot work.
func (c *Dual) Validate() error { return cmp.Or(config.Check(c, ""), c.Towers.validate()) }

// New composes the model.
func (c *Dual) New(size Size) (Model, error) {
	return newTowers(dualKind, c.Model, twotower.Histories, size, c.Prior)
}

// Start fits the classical score.
func (c *Dual) Start(ctx context.Context, d *Dataset) (*Prior, error) {
	return startFrom(ctx, d, &c.Prior)
}

// Stored sets what files of earlier versions do not name.
func (c *Dual) Stored() { c.Prior, c.Model.Own, c.Model.Whole = noPrior, false, 0 }

// startFrom fits the classical score of a setting, and writes there which it is.
func startFrom(ctx context.Context, d *Dataset, name *string) (*Prior, error) {
	if *name == noPrior {
		return nil, nil
	}
	p, err := fitPrior(ctx, d, *name, priorUsers)
	if err == nil {
		*name = p.name
	}
	return p, err
}

// priorUsers is the number of validation questions that classical scores are chosen and
// calibrated on.
const priorUsers = 1000

var searchKind = &Kind{Name: "search", Purpose: Searching, Score: "inner_product", Depth: 100, Index: true,
	Default: func() Config { return DefaultSearch() }}

// Search configures a model that compares vectors of texts and items, and their words.
type Search struct {
	Towers `yaml:",inline"`
	Prior  string `yaml:"prior" enum:"bm25|none" doc:"Score of words that training starts from and adds to."`
}

// DefaultSearch starts from BM25. Its network and schedule are the paper's, with fewer
// than its 100,000 steps.
func DefaultSearch() *Search {
	c := &Search{Towers: defaultTowers(), Prior: bm25Kind.Name}
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
func (c *Search) New(size Size) (Model, error) {
	return newTowers(searchKind, c.Model, twotower.Words, size, c.Prior)
}

// Start chooses BM25's settings. A catalogue without texts has no words to compare.
func (c *Search) Start(ctx context.Context, d *Dataset) (*Prior, error) {
	if _, err := textsOf(d.catalogue()); err != nil {
		c.Prior = noPrior
	}
	if c.Prior == noPrior {
		return nil, nil
	}
	return fitWords(ctx, d, priorUsers)
}

// Stored sets what files of earlier versions do not name.
func (c *Search) Stored() { c.Prior, c.Model.Own, c.Model.Whole = noPrior, false, 0 }

// Towers are the settings that both kinds share.
type Towers struct {
	Model twotower.Config `yaml:"model" doc:"The two networks."`
	Train train.Config    `yaml:"train" doc:"The training run."`
}

func defaultTowers() Towers {
	t := Towers{Model: twotower.Default(), Train: train.Config{
		Seed: 1,
		Loop: train.Loop{
			Steps: 20000, Batch: 512, ClipNorm: 1, Evaluate: 1000, Patience: 5, Log: 100, Checkpoint: 500,
			Best: true, Keep: 2, Schedule: optim.Schedule{Kind: "cosine", Warmup: 2000},
		},
		Optimizer: optim.Optimizer{Name: "adamw", Rate: 1e-3, WeightDecay: 1e-4, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
	}}
	t.Model.Own, t.Model.OwnDropout, t.Model.Whole = true, 0.1, 20000
	return t
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
	kind  *Kind
	name  string // of the prior
	prior *Prior // in training, nil without one
}

func newTowers(kind *Kind, c twotower.Config, reads twotower.Reads, size Size, prior string) (Model, error) {
	m, err := twotower.New(c, reads, size.Vocab, twotower.Start{Items: size.Items, Prior: prior != noPrior})
	if err != nil {
		return nil, err
	}
	return &towers{Model: m, kind: kind, name: prior}, nil
}

func (t *towers) start(p *Prior) { t.prior = p }

func (t *towers) shrink(r Ranker, factor float64) {
	if s, ok := r.(*scoring); ok {
		s.network.(*twotower.Retriever).Shrink(factor)
	}
}

func (t *towers) shrunk(set weights.Set, factor float64) weights.Set {
	return twotower.Shrunk(set, factor)
}

// Dual is the model, for exporters.
func (t *towers) Dual() *twotower.Model { return t.Model }

func (t *towers) String() string {
	return fmt.Sprintf("%s, towers of %d and %d layers of width %d", t.kind.Name, t.Config.Layers, t.Config.ItemLayers, t.Config.Width)
}

// Rooms has one size where an item is told from the others of its batch, which must not
// depend on how long their histories are.
func (t *towers) Rooms() []int {
	switch {
	case t.kind == searchKind:
		return nil
	case t.Whole():
		return network.Rooms(t.Config.Length)
	}
	return []int{t.Config.Length}
}

func (t *towers) Batches(d *Dataset) (func(examples []Example, room int) ([]*tensors.Tensor, error), error) {
	items, err := network.NewItems(d.Table.IDs(), d.Table.Vocab())
	if err != nil {
		return nil, err
	}
	var prior network.Prior
	if t.prior != nil {
		prior = t.prior.Prior
	}
	return func(examples []Example, _ int) ([]*tensors.Tensor, error) {
		logShares := make([]float32, len(examples))
		for i, e := range examples {
			if prior != nil && e.Relevant == nil && d.dropsSeen() { // answers leave these out
				examples[i].Relevant = slices.Sorted(slices.Values(append([]int32{e.Target}, e.History...)))
			}
			logShares[i] = float32(math.Log(float64(d.targets[e.Target]) / float64(d.Examples())))
		}
		return t.Batch(items, examples, logShares, prior)
	}, nil
}

func (t *towers) Ranker(ctx context.Context, backend compute.Backend, set weights.Set, c *catalogue.Catalogue, o network.Options) (
	Ranker, error) {
	items, err := network.NewItems(c.IDs(), c.Vocab())
	if err != nil {
		return nil, err
	}
	if o.Prior, err = loadStart(set, t.name, c); err != nil {
		return nil, err
	}
	r, err := twotower.NewRetriever(ctx, backend, t.Model, learned(set), items, o)
	if err != nil || !r.ScoresAll() {
		return r, err
	}
	counts := make([]float32, c.Len())
	if t.kind.Purpose == Recommending {
		copy(counts, set[priorPath+"/"+countsPath].Data)
	}
	return &scoring{dense{items: c.Len(), counts: counts, excludeSeen: o.ExcludeSeen, each: r.Scores}, r}, nil
}

// scoring is the [Ranker] of a network that scores every item.
type scoring struct {
	dense
	network train.Server
}

// Update implements Ranker.
func (s *scoring) Update(ctx context.Context, set weights.Set) error {
	return s.network.Update(ctx, set)
}

// Close implements Ranker.
func (s *scoring) Close() { s.network.Close() }

// LookupTime is the part of the time of all answers that was spent on comparing vectors.
func (s *scoring) LookupTime() time.Duration {
	if timed, ok := s.network.(interface{ LookupTime() time.Duration }); ok {
		return timed.LookupTime()
	}
	return 0
}

// loadStart makes the prior of stored variables, nil without one.
func loadStart(set weights.Set, name string, c *catalogue.Catalogue) (network.Prior, error) {
	switch name {
	case noPrior:
		return nil, nil
	case bm25Kind.Name:
		return loadWords(set, c)
	}
	return loadPrior(set, name, c.Len())
}
