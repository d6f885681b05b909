package recommend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// Query is a user of whom the next item is asked: the items of the history are
// rows of the catalogue's table, the latest last. It may be empty.
type Query struct {
	User    string
	History []int32
}

// Example is a query and the item that followed.
type Example struct {
	Query
	Target int32
}

// Scored is a recommended item. What its score is depends on the kind of model;
// larger is better.
type Scored struct {
	Item  int32
	Score float64
}

// Config is a whole experiment with a model of one kind: a pointer to Generative
// or Dual.
type Config interface {
	// Kind names the kind of model.
	Kind() string
	// Validate reports the first setting that cannot work.
	Validate() error
	// Training is how the model is trained; it may be changed.
	Training() *train.Config
	// Validation is how the model is scored during training.
	Validation() RankOptions
	// New composes the model for IDs with vocab[t] codes at position t.
	New(vocab []int) (Model, error)
}

// kinds are the configurations there are, with their defaults.
var kinds = []func() Config{
	func() Config { c := DefaultGenerative(); return &c },
	func() Config { c := DefaultDual(); return &c },
}

// Kinds lists the kinds of models.
func Kinds() []string {
	var names []string
	for _, c := range kinds {
		names = append(names, c().Kind())
	}
	return names
}

// Default returns the configuration of a kind.
func Default(kind string) (Config, error) {
	if i := slices.Index(Kinds(), kind); i >= 0 {
		return kinds[i](), nil
	}
	return nil, fmt.Errorf("there is no recommender %q: use %s", kind, strings.Join(Kinds(), " or "))
}

// Model is a network that recommends.
type Model interface {
	// String describes the network in a few words.
	String() string
	// History is the number of items that it reads of a user: the last ones.
	History() int
	// Rooms are the numbers of items that a batch may have room for, ascending;
	// the last is History.
	Rooms() []int
	// Init draws the initial variables, a function of the seed.
	Init(seed uint64) weights.Set
	// Batches prepares training on a dataset: the returned function makes the
	// inputs of Loss from examples, with room for so many items of history.
	Batches(d *Dataset) (func(examples []Example, room int) ([]*tensors.Tensor, error), error)
	// Loss builds the scalar to be made small. Graph code: it may panic.
	Loss(v weights.Vars, inputs []*graph.Node, random *nn.Random) *graph.Node
	// Searcher prepares answers with the given variables over the items of a
	// table.
	Searcher(ctx context.Context, backend compute.Backend, set weights.Set, table *catalogue.Table, o SearchOptions) (Searcher, error)
	// Score says what the scores of answers are.
	Score() string
	// Depth is the length of the lists that an evaluation asks for unless told.
	Depth() int
}

// SearchOptions refine a Searcher.
type SearchOptions struct {
	// Depth is the length of the longest list that can be asked for; a generative
	// model keeps as many beams.
	Depth int
	// ExcludeSeen leaves out the items of a query's history.
	ExcludeSeen bool
	// Users is the number of queries the engine works on at a time; 0 leaves it
	// to the model.
	Users int
	// Index is how a dual model looks for items, one of twotower.Indexes (empty:
	// exact), and Effort how hard. A generative model has no index.
	Index  string
	Effort int
}

// Searcher answers with fixed variables. It is safe for concurrent use.
type Searcher interface {
	// Recommend returns for each query the k best items, best first, without
	// repetition; fewer if there are no more. k is at most the Depth.
	Recommend(ctx context.Context, queries []Query, k int) ([][]Scored, error)
	// Update exchanges the variables for others of the same model, without
	// compiling anything again. Nothing else may use the searcher meanwhile.
	Update(ctx context.Context, set weights.Set) error
	// Close gives the engine's memory back.
	Close()
}
