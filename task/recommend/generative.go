package recommend

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/task/recommend/seqrec"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// A depth of 50 leaves out the cutoff of 100: 100 beams take twice the time.
var generativeKind = &Kind{Name: "generative", Purpose: Recommending, Score: "log_probability", Depth: 50, Users: true,
	Default: func() Config { return DefaultGenerative() }}

// Generative configures a model that writes the ID of the next item.
type Generative struct {
	Model           seqrec.Config `yaml:"model" doc:"The network."`
	Train           train.Config  `yaml:"train" doc:"The training run."`
	Prior           string        `yaml:"prior" enum:"auto|none|blend|transitions|itemknn|ease|popularity"`
	Subsequences    float64       `yaml:"subsequences" min:"0" below:"1"`
	ValidationUsers int           `yaml:"validation_users" min:"0" doc:"Users scored at an evaluation during training (0: all)."`
	Beam            int           `yaml:"beam" min:"1" doc:"Beams of the search behind an evaluation during training."`
}

// Docs describes keys.
func (Generative) Docs() map[string]string {
	return map[string]string{"prior": priorDoc,
		"subsequences": "Share of the examples whose history begins at a random place, so that more histories are seen."}
}

// DefaultGenerative starts from the best classical score. Its network and schedule are
// the paper's, but it tells no user from another and predicts codes by vectors of their
// own.
func DefaultGenerative() *Generative {
	model := seqrec.Default()
	model.Tied, model.UserBuckets = false, 1
	return &Generative{
		Model: model, ValidationUsers: 2000, Beam: 20, Prior: autoPrior, Subsequences: 0.5,
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
func (c *Generative) Validate() error { return cmp.Or(config.Check(c, ""), c.Train.Validate()) }

// New composes the model.
func (c *Generative) New(size Size) (Model, error) {
	m, err := seqrec.New(c.Model, size.Vocab, c.Prior != noPrior)
	if err != nil {
		return nil, err
	}
	return &generative{Model: m, name: c.Prior, share: c.Subsequences}, nil
}

// Start fits the classical score.
func (c *Generative) Start(ctx context.Context, d *Dataset) (*Prior, error) {
	return startFrom(ctx, d, &c.Prior)
}

// Stored sets what files of earlier versions do not name.
func (c *Generative) Stored() { c.Prior, c.Subsequences = noPrior, 0 }

// generative makes a [Learner] of seqrec's model.
type generative struct {
	*seqrec.Model
	name  string  // of the prior
	prior *Prior  // in training, nil without one
	share float64 // of the examples that are cut
}

func (g *generative) start(p *Prior) { g.prior = p }

func (g *generative) subsequences() float64 { return g.share }

func (g *generative) String() string {
	return fmt.Sprintf("generative, %d + %d layers of width %d", g.Config.Layers, g.Config.Layers, g.Config.Width)
}

func (g *generative) Batches(d *Dataset) (func(examples []Example, room int) ([]*tensors.Tensor, error), error) {
	items, err := network.NewItems(d.Table.IDs(), d.Table.Vocab())
	if err != nil {
		return nil, err
	}
	var masses *network.Masses
	if g.prior != nil {
		masses = network.NewMasses(items, g.prior)
	}
	return func(examples []Example, room int) ([]*tensors.Tensor, error) {
		return g.Batch(items, examples, seqrec.Shape{Rows: len(examples), History: room}, masses)
	}, nil
}

func (g *generative) Ranker(_ context.Context, backend compute.Backend, set weights.Set, c *catalogue.Catalogue, o network.Options) (
	Ranker, error) {
	items, err := network.NewItems(c.IDs(), c.Vocab())
	if err != nil {
		return nil, err
	}
	if o.Prior, err = loadStart(set, g.name, c); err != nil {
		return nil, err
	}
	return seqrec.NewBeamSearch(backend, g.Model, learned(set), items, o)
}
