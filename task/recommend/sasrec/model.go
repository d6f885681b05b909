package sasrec

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// Model is a recommender of a catalogue. Variables: "items/table" [Items, Width] and
// "tower/…".
type Model struct {
	Config Config
	Items  int

	tower nn.Causal
}

// New composes a model of so many items.
func New(c Config, items int) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if items < 1 {
		return nil, fmt.Errorf("a recommender of %d items: it needs at least one", items)
	}
	return &Model{Config: c, Items: items, tower: nn.Causal{Transformer: c.Transformer(c.Length)}}, nil
}

// Init draws the initial variables, a function of the seed.
func (m *Model) Init(seed uint64) weights.Set {
	set := weights.Set{}
	set.Merge("items", m.table().Init(weights.Rand(seed, "items")))
	return set.Merge("tower", m.tower.Init(weights.Rand(seed, "tower")))
}

func (m *Model) table() nn.Embedding { return nn.Embedding{Rows: m.Items, Width: m.Config.Width} }

// Rooms are the numbers of items that a batch may have room for, ascending.
func (m *Model) Rooms() []int { return network.Rooms(m.Config.Length) }

// BatchInputs is the number of tensors that Batch makes.
const BatchInputs = 3

// Batch turns sequences, each an example's history and its target, into the inputs of
// Loss: items and the item after each [B, room] (int32), and 1 where there are any
// (float32). The last items of longer sequences are kept.
func (m *Model) Batch(examples []network.Example, room int) ([]*tensors.Tensor, error) {
	n := len(examples)
	if err := network.CheckRoom(n, room, 3); err != nil {
		return nil, err
	}
	items, next, inUse := make([]int32, n*room), make([]int32, n*room), make([]float32, n*room)
	for i, e := range examples {
		if err := m.check(e.History, e.Target); err != nil {
			return nil, err
		}
		read := e.History[max(0, len(e.History)-room):]
		for at, item := range read {
			items[i*room+at], inUse[i*room+at] = item, 1
			next[i*room+at] = e.Target
			if at+1 < len(read) {
				next[i*room+at] = read[at+1]
			}
		}
	}
	return []*tensors.Tensor{tensors.FromFlatDataAndDimensions(items, n, room), tensors.FromFlatDataAndDimensions(next, n, room),
		tensors.FromFlatDataAndDimensions(inUse, n, room)}, nil
}

// check refuses items that the model does not know.
func (m *Model) check(history []int32, more ...int32) error {
	for _, list := range [][]int32{history, more} {
		for _, item := range list {
			if item < 0 || int(item) >= m.Items {
				return fmt.Errorf("item %d is not in the catalogue, which has %d items", item, m.Items)
			}
		}
	}
	return nil
}

// Loss is the mean over the places in use of -log softmax(scores)[next], or of
// -log σ(s) - log σ(-s') for the scores s of the next item and s' of a random other one.
// random is nil except in training, where a binary loss draws the other items; without
// it the other item is the one after next, by number.
func (m *Model) Loss(v weights.Vars, inputs []*graph.Node, random *nn.Random) *graph.Node {
	if len(inputs) != BatchInputs {
		panic(fmt.Errorf("sasrec: the loss takes %d inputs, got %d", BatchInputs, len(inputs)))
	}
	batch, room := inputs[0].Shape().Dim(0), inputs[0].Shape().Dim(1)
	next, inUse := graph.Reshape(inputs[1], batch*room), graph.Reshape(inputs[2], batch*room)
	hidden := graph.Reshape(m.hidden(v, inputs[0], random), batch*room, m.Config.Width)
	table, places := v.Get("items/table"), graph.MaxScalar(graph.ReduceAllSum(inUse), 1)
	if m.Config.Loss == "softmax" {
		// A place without an item has a hidden vector of zero: it adds a constant, the
		// logarithm of the number of items.
		hidden = graph.Mul(hidden, graph.ExpandAxes(inUse, -1))
		idle := graph.MulScalar(graph.ReduceAllSum(graph.OneMinus(inUse)), logOf(m.Items))
		return graph.Div(graph.Sub(nn.CrossEntropy(hidden, table, next), idle), places)
	}
	own := m.scoresOf(hidden, table, next)
	other := m.scoresOf(hidden, table, m.others(next, random))
	terms := graph.Add(graph.Softplus(graph.Neg(own)), graph.Softplus(other))
	return graph.Div(graph.ReduceAllSum(graph.Mul(terms, inUse)), places)
}

// hidden maps items [B, T] to vectors [B, T, Width], each a function of the items up to
// its place.
func (m *Model) hidden(v weights.Vars, items *graph.Node, random *nn.Random) *graph.Node {
	return m.tower.Build(v.In("tower"), m.table().Build(v.In("items"), items), random)
}

// Scores are the scores [B, Items] of all items after histories [B, T] of the given
// lengths [B], at least 1.
func (m *Model) Scores(v weights.Vars, items, lengths *graph.Node) *graph.Node {
	batch, room := items.Shape().Dim(0), items.Shape().Dim(1)
	last := graph.OneHot(graph.AddScalar(lengths, -1), room, v.Get("items/table").DType()) // [B, T]
	hidden := graph.Mul(m.hidden(v, items, nil), graph.ExpandAxes(last, -1))
	return nn.Logits(graph.Reshape(graph.ReduceSum(hidden, 1), batch, m.Config.Width), v.Get("items/table"))
}
