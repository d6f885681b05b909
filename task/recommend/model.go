package recommend

import (
	"context"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// The networks share these types.
type (
	Question = network.Question
	Example  = network.Example
	Scored   = network.Scored
)

// Model finds items. It is either a [Learner] or a [Fitter].
type Model interface {
	// String describes the model in a few words.
	String() string
	// Ranker prepares answers with the given variables over the items of a catalogue, which may
	// have more than those it was trained on; their texts may be missing.
	Ranker(ctx context.Context, backend compute.Backend, set weights.Set, c *catalogue.Catalogue, o network.Options) (Ranker, error)
}

// Learner is a model that is trained by gradients.
type Learner interface {
	Model
	// Init draws the initial variables, a function of the seed.
	Init(seed uint64) weights.Set
	// Rooms are the numbers of history items that a batch may have room for,
	// ascending; nil for a model that reads no histories.
	Rooms() []int
	// Batches prepares training on a dataset: the returned function makes the
	// inputs of Loss from examples, with room for a history of the given length.
	Batches(d *Dataset) (func(examples []Example, room int) ([]*tensors.Tensor, error), error)
	// Loss builds the scalar to be minimised. Graph code: it may panic.
	Loss(v weights.Vars, inputs []*graph.Node, random *nn.Random) *graph.Node
}

// starter is a [Learner] that starts from a classical answer.
type starter interface {
	Learner
	// start gives the answer, before Batches.
	start(p *Prior)
}

// sequential is a [Learner] whose examples are whole sequences: a user's last example.
type sequential interface {
	Learner
	whole()
}

// augmenter is a [Learner] that cuts a share of the histories to random lengths.
type augmenter interface {
	Learner
	subsequences() float64
}

// shrinker is a [starter] whose learned scores can be multiplied by a factor, in a ranker
// of its own and for good.
type shrinker interface {
	starter
	shrink(r Ranker, factor float64)
	shrunk(set weights.Set, factor float64) weights.Set
}

// Fitter is a model whose variables are computed from the data at once.
type Fitter interface {
	Model
	Fit(ctx context.Context, d *Dataset) (weights.Set, error)
}

// Ranker answers questions with fixed variables. It is safe for concurrent use.
type Ranker interface {
	// Top returns the k best items of each question, best first, without
	// repetition; fewer if there are no more. k is at most the Depth.
	Top(ctx context.Context, questions []Question, k int) ([][]Scored, error)
	// Update replaces the variables by others of the same model, without compiling
	// anything again. Nothing else may use the ranker meanwhile.
	Update(ctx context.Context, set weights.Set) error
	// Close releases the engine's memory.
	Close()
}

// ExactRanker is a [Ranker] that knows the scores of all items.
type ExactRanker interface {
	// Ranks returns the ranks of every case's relevant items in the whole catalogue,
	// 0 for those that are left out as seen. Ties are as in eval.RanksOf.
	Ranks(ctx context.Context, cases []Case) ([][]int, error)
}
