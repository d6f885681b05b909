package recommend

import (
	"fmt"

	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/modeldir"
	"github.com/gritvq/gritvq/weights"
)

// Recommender is a trained model with its catalogue.
type Recommender struct {
	Manifest modeldir.Manifest
	Config   Config
	Model    Model
	Weights  weights.Set
	Table    *catalogue.Table
}

var purpose = modeldir.Purpose{Name: "recommender", Make: "gritvq recommend train IDS LOG -o"}

// Save stores the recommender in dir, which must exist.
func (r *Recommender) Save(dir string) error {
	r.Manifest.Kind = r.Config.Kind()
	return modeldir.Save(dir, &r.Manifest, modeldir.Content{Config: r.Config, Weights: r.Weights, Table: r.Table})
}

// Load reads and verifies the recommender in dir.
func Load(dir string) (*Recommender, error) {
	r := &Recommender{}
	settings := func(kind string) any {
		c, err := Default(kind)
		if err != nil {
			return nil
		}
		r.Config = c
		return c
	}
	declared := func(m modeldir.Manifest, _ any) (weights.Set, error) {
		var err error
		if err = r.Config.Validate(); err != nil {
			return nil, err
		}
		if r.Model, err = r.Config.New(m.Vocab); err != nil {
			return nil, fmt.Errorf("its settings make no model: %w", err)
		}
		return r.Model.Init(0), nil
	}
	manifest, content, err := modeldir.Load(dir, purpose, settings, declared)
	if err != nil {
		return nil, err
	}
	r.Manifest, r.Weights, r.Table = manifest, content.Weights, content.Table
	return r, nil
}
