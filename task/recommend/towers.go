package recommend

import (
	"context"
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/network"
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

func (t towers) Batches(d *Dataset) (func(examples []Example, room int) ([]*tensors.Tensor, error), error) {
	items, err := t.Items(d.Table.IDs(), d.Table.Vocab())
	if err != nil {
		return nil, err
	}
	return func(examples []Example, _ int) ([]*tensors.Tensor, error) {
		own := make([]twotower.Example, len(examples))
		for i, e := range examples {
			share := float64(d.targets[e.Target]) / float64(d.Examples())
			own[i] = twotower.Example{
				Query: t.Read(e.Question), Target: e.Target, Answers: e.Relevant, LogShare: float32(math.Log(share))}
		}
		return t.Batch(items, own)
	}, nil
}

func (t towers) Ranker(ctx context.Context, backend compute.Backend, set weights.Set, table *catalogue.Table, o network.Options) (
	Ranker, error) {
	items, err := t.Items(table.IDs(), table.Vocab())
	if err != nil {
		return nil, err
	}
	return twotower.NewRetriever(ctx, backend, t.Model, set, items, o)
}
