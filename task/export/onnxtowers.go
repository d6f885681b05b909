package export

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/export/onnx"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/task/recommend"
	"github.com/gritvq/gritvq/task/recommend/twotower"
)

// towerNetworks are the towers of a dual encoder of histories or searches.
func towerNetworks(ctx context.Context, dir string, purpose *recommend.Purpose) (networks, error) {
	r, err := recommend.Load(ctx, dir, purpose)
	if err != nil {
		return networks{}, err
	}
	model, ok := r.Model.(interface{ Dual() *twotower.Model })
	if !ok {
		return networks{}, fmt.Errorf("%s cannot become an ONNX network: it is a %s of kind %s, and only dual encoders have towers",
			dir, purpose.Title(), r.Manifest.Kind)
	}
	return networksOfTowers(model.Dual(), r)
}

func networksOfTowers(m *twotower.Model, r *recommend.Recommender) (networks, error) {
	query, item := m.Towers()
	c, positions := m.Config, len(r.Manifest.Vocab)
	n := networks{title: "dual encoder", about: fmt.Sprintf("IDs of %d codes, %v each: %s", positions, r.Manifest.Vocab, r.Model)}
	t := onnx.Towers{Query: query, Item: item, Set: r.Weights, Vocab: r.Manifest.Vocab, Words: m.Searches(), First: c.Pool == "first",
		Cosine: c.Similarity == "cosine", Divisor: m.Divisor(r.Weights), Text: n.about}
	found, items := fmt.Sprintf("`vectors`: float32 [batch, %d]", c.Width), fmt.Sprintf("`codes`: int64 [batch, %d]", positions)
	var input string
	if m.Searches() {
		input = "`words`: int64 [batch, places]; `lengths`: int64 [batch]"
		n.details = fmt.Sprintf("`words` are the first %d runs of letters and digits of a text in lower case, "+
			"each as its 64-bit FNV-1a hash of UTF-8 modulo %d.", c.Length, c.WordBuckets)
	} else {
		input = fmt.Sprintf("`history`: int64 [batch, places, %d]; `lengths`: int64 [batch]", positions)
		n.details = fmt.Sprintf("`history` has the codes of the items that a user took, the latest first, up to %d of them.", c.Length)
	}
	n.details += " `lengths` says how many places of a row count."
	if c.Own {
		if !m.Searches() {
			input += "; `items`: int64 [batch, places]"
		}
		items += "; `items`: int64 [batch]"
		n.details += " `items` are the items' rows in the table of IDs, counted from 1, and 0 for items that were added after training."
	}
	n.details += " The score of an item is the inner product of its vector and the query's."
	if weight := r.Weights["prior_weight"]; weight != nil {
		n.notes = append(n.notes, fmt.Sprintf("gritvq adds %g times the classical score that training started from, which is no network",
			weight.Data[0]))
	}
	if c.Precision == "bf16" {
		n.notes = append(n.notes, halfNote)
	}
	n.files = []file{
		{"query.onnx", "queries to vectors", input, found, t.QueryTower(version.CreatedBy())},
		{"items.onnx", "IDs of items to vectors", items, found, t.ItemTower(version.CreatedBy())},
	}
	return n, nil
}
