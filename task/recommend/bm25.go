package recommend

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/lexical"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

var bm25Kind = &Kind{Name: "bm25", Purpose: Searching, Score: "bm25", Depth: 100,
	Default: func() Config { return &BM25{Model: lexical.Default(), Choose: true, ValidationQueries: 1000} }}

// BM25 configures a search engine that compares words.
type BM25 struct {
	Model             lexical.Config `yaml:"model" doc:"The scores."`
	Choose            bool           `yaml:"choose" doc:"Take the settings with the best NDCG@10 on validation searches."`
	ValidationQueries int            `yaml:"validation_queries" min:"0" doc:"Searches that settings are compared on (0: all)."`
}

// Kind is the kind of model.
func (c *BM25) Kind() *Kind { return bm25Kind }

// Training is nil: nothing is learned.
func (c *BM25) Training() *train.Config { return nil }

// Validation says how the model is scored.
func (c *BM25) Validation() Validation { return Validation{Depth: 10, Final: 100} }

// Validate reports the first setting that cannot work.
func (c *BM25) Validate() error {
	if err := config.Check(c, ""); err != nil {
		return err
	}
	return c.Model.Validate()
}

// Fix keeps settings as they are.
func (c *BM25) Fix() { c.Choose = false }

// New returns the model, which does not depend on IDs.
func (c *BM25) New(Size) (Model, error) { return bm25{c}, nil }

type bm25 struct{ config *BM25 }

func (m bm25) String() string { return m.config.Model.String() }

// Fit chooses settings, which it writes to the configuration. There are no
// variables: the index is made of the texts of the items.
func (m bm25) Fit(ctx context.Context, d *Dataset) (weights.Set, error) {
	texts, err := textsOf(d.catalogue())
	if err != nil || !m.config.Choose {
		return weights.Set{}, err
	}
	cases, best, chosen := d.Cases(ValidationPart, m.config.ValidationQueries), -1.0, m.config.Model
	for _, settings := range m.config.Model.Alternatives() {
		index, err := lexical.New(settings, texts)
		if err != nil {
			return nil, err
		}
		ranks, err := textRanker(index, len(texts)).Ranks(ctx, cases)
		if err != nil {
			return nil, err
		}
		sum := 0.0
		for _, own := range ranks {
			sum += eval.NDCG.Score(int32s(own), 10)
		}
		if sum > best {
			best, chosen = sum, settings
		}
	}
	m.config.Model = chosen
	return weights.Set{}, nil
}

// Ranker indexes the texts of the catalogue.
func (m bm25) Ranker(_ context.Context, _ compute.Backend, _ weights.Set, c *catalogue.Catalogue, _ network.Options) (Ranker, error) {
	texts, err := textsOf(c)
	if err != nil {
		return nil, err
	}
	index, err := lexical.New(m.config.Model, texts)
	if err != nil {
		return nil, err
	}
	return textRanker(index, len(texts)), nil
}

// textRanker ranks items by the words of a search.
func textRanker(index *lexical.Index, items int) *dense {
	score := func(q Question, scores []float32) { index.Score(q.Text, scores) }
	return &dense{items: items, counts: make([]float32, items), each: eachQuestion(items, score)}
}

// textsOf returns the texts of the rows of a catalogue. It fails if no item has one.
func textsOf(c *catalogue.Catalogue) ([]string, error) {
	texts, any := make([]string, c.Len()), false
	for row := range texts {
		if c.Items != nil {
			if at, ok := c.Items.Row(c.Key(row)); ok {
				texts[row] = c.Items.Items[at].Text
			}
		}
		any = any || texts[row] != ""
	}
	if !any {
		return nil, fmt.Errorf("no item of the catalogue has a title or text to compare words with: give gritvq ids a file of items with titles")
	}
	return texts, nil
}
