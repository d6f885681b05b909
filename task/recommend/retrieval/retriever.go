package retrieval

import (
	"context"
	"fmt"
	"time"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/modeldir"
	"github.com/gritvq/gritvq/task/recommend/twotower"
	"github.com/gritvq/gritvq/weights"
)

// Retriever is a trained search engine with its catalogue.
type Retriever struct {
	Manifest modeldir.Manifest
	Config   Config
	Model    *twotower.Model
	Weights  weights.Set
	Table    *catalogue.Table
}

// kind is what manifests call a retriever.
const kind = "search"

var purpose = modeldir.Purpose{Name: "search engine", Make: "gritvq retrieve train IDS QUERIES -o"}

// Save stores the retriever in dir, which must exist.
func (r *Retriever) Save(dir string) error {
	r.Manifest.Kind = kind
	return modeldir.Save(dir, &r.Manifest, modeldir.Content{Config: &r.Config, Weights: r.Weights, Table: r.Table})
}

// Load reads and verifies the retriever in dir.
func Load(dir string) (*Retriever, error) {
	r := &Retriever{Config: Default()}
	settings := func(found string) any {
		if found != kind {
			return nil
		}
		return &r.Config
	}
	declared := func(m modeldir.Manifest, _ any) (weights.Set, error) {
		var err error
		if r.Model, err = twotower.New(r.Config.Model, twotower.Words, m.Vocab); err != nil {
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

// Searcher answers searches. It is safe for concurrent use.
type Searcher struct {
	towers *twotower.Searcher
	model  *twotower.Model
}

// Searcher makes the vectors of all items and their index.
func (r *Retriever) Searcher(ctx context.Context, backend compute.Backend, o twotower.SearchOptions) (*Searcher, error) {
	items, err := r.Model.Items(r.Table.IDs(), r.Table.Vocab())
	if err != nil {
		return nil, err
	}
	towers, err := twotower.NewSearcher(ctx, backend, r.Model, r.Weights, items, o)
	if err != nil {
		return nil, err
	}
	return &Searcher{towers, r.Model}, nil
}

// Find returns for each text the k best items, rows of the catalogue's table,
// best first; fewer if the catalogue has no more.
func (s *Searcher) Find(ctx context.Context, texts []string, k int) ([][]twotower.Scored, error) {
	queries := make([]twotower.Query, len(texts))
	for i, text := range texts {
		queries[i] = s.model.Words(text)
	}
	return s.towers.Nearest(ctx, queries, k)
}

// Update exchanges the variables for others of the same model, see
// twotower.Searcher. Nothing else may use the searcher meanwhile.
func (s *Searcher) Update(ctx context.Context, set weights.Set) error {
	return s.towers.Update(ctx, set)
}

// LookupTime is the time spent in the index so far, see twotower.Searcher.
func (s *Searcher) LookupTime() time.Duration { return s.towers.LookupTime() }

// Close gives the engine's memory back.
func (s *Searcher) Close() { s.towers.Close() }
