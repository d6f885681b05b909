package recommend

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/twotower"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// towers makes a [Learner] of twotower's model.
type towers struct{ *twotower.Model }

func newTowers(c twotower.Config, reads twotower.Reads, vocab []int) (Model, error) {
	m, err := twotower.New(c, reads, vocab)
	if err != nil {
		return nil, err
	}
	return towers{m}, nil
}

// validTowers reports the first setting that cannot work.
func validTowers(m twotower.Config, t train.Config) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if t.Batch < 2 {
		return fmt.Errorf("train.batch: %d must be at least 2, for items are told from the others of a batch", t.Batch)
	}
	return t.Validate()
}

func (t towers) String() string {
	name := dualKind.Name
	if t.Reads() == twotower.Words {
		name = searchKind.Name
	}
	return fmt.Sprintf("%s, towers of %d and %d layers of width %d", name, t.Config.Layers, t.Config.ItemLayers, t.Config.Width)
}

// Rooms has one size: an item is told from the others of its batch, which must
// not depend on how long their histories are.
func (t towers) Rooms() []int {
	if t.Reads() == twotower.Words {
		return nil
	}
	return []int{t.Config.Length}
}

// query is the part of a question that the tower reads.
func (t towers) query(q Question) twotower.Query {
	if t.Reads() == twotower.Words {
		return t.Words(q.Text)
	}
	return q.History
}

func (t towers) Batches(d *Dataset) (func(examples []Example, room int) ([]*tensors.Tensor, error), error) {
	items, err := t.Items(d.Table.IDs(), d.Table.Vocab())
	if err != nil {
		return nil, err
	}
	return func(examples []Example, _ int) ([]*tensors.Tensor, error) {
		own := make([]twotower.Example, len(examples))
		for i, e := range examples {
			share := float64(d.targets[e.Target]) / float64(d.Examples())
			own[i] = twotower.Example{Query: t.query(e.Question), Target: e.Target, Answers: e.Relevant, LogShare: float32(math.Log(share))}
		}
		return t.Batch(items, own)
	}, nil
}

func (t towers) Ranker(ctx context.Context, backend compute.Backend, set weights.Set, table *catalogue.Table, o RankerOptions) (Ranker, error) {
	items, err := t.Items(table.IDs(), table.Vocab())
	if err != nil {
		return nil, err
	}
	retriever, err := twotower.NewRetriever(ctx, backend, t.Model, set, items,
		twotower.SearchOptions{Index: o.Index, Effort: o.Effort, Queries: o.Questions})
	if err != nil {
		return nil, err
	}
	return nearest{retriever, t, o}, nil
}

// nearest makes a [Ranker] of twotower's retriever.
type nearest struct {
	*twotower.Retriever
	towers  towers
	options RankerOptions
}

func (n nearest) Top(ctx context.Context, questions []Question, k int) ([][]Scored, error) {
	if k < 1 || k > n.options.Depth {
		return nil, tooDeep(k, n.options.Depth)
	}
	queries, wanted := make([]twotower.Query, len(questions)), k
	for i, q := range questions {
		queries[i] = n.towers.query(q)
		if n.options.ExcludeSeen {
			wanted = max(wanted, k+len(q.History))
		}
	}
	found, err := n.Nearest(ctx, queries, wanted)
	if err != nil {
		return nil, err
	}
	lists := make([][]Scored, len(found))
	for i, list := range found {
		for _, item := range list {
			if len(lists[i]) < k && !(n.options.ExcludeSeen && slices.Contains(questions[i].History, item.Item)) {
				lists[i] = append(lists[i], Scored(item))
			}
		}
	}
	return lists, nil
}
