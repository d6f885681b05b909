package recommend

import (
	"github.com/gritvq/gritvq/task/recommend/twotower"
	"github.com/gritvq/gritvq/train"
)

var searchKind = &Kind{Name: "search", Purpose: Searching, Score: "inner_product", Depth: 100, Index: true,
	Default: func() Config { c := DefaultSearch(); return &c }}

// Search configures a model that compares vectors of texts and items.
type Search struct {
	Model twotower.Config `yaml:"model" doc:"The two networks."`
	Train train.Config    `yaml:"train" doc:"The training run."`
}

// DefaultSearch is the paper's network and schedule, but for its 100,000 steps.
func DefaultSearch() Search {
	c := Search{Model: twotower.Default(), Train: towersTraining()}
	c.Model.Length = 16
	return c
}

// Kind is the kind of model.
func (c *Search) Kind() *Kind { return searchKind }

// Training returns the settings of the training run.
func (c *Search) Training() *train.Config { return &c.Train }

// Validation says how the model is scored.
func (c *Search) Validation() Validation { return Validation{Depth: 10, Final: 100} }

// Validate reports the first setting that cannot work.
func (c *Search) Validate() error { return validTowers(c.Model, c.Train) }

// New composes the model.
func (c *Search) New(vocab []int) (Model, error) { return newTowers(c.Model, twotower.Words, vocab) }
