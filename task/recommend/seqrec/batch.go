package seqrec

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
)

// Query is a user of whom the next item is asked: the items of the history are
// numbers in Items, the latest last. It may be empty.
type Query struct {
	User    string
	History []int32
}

// Example is a query and the item that followed.
type Example struct {
	Query
	Target int32
}

// Shape is the size of a batch: examples, and items of history that each has
// room for. The engine compiles a program for every shape.
type Shape struct {
	Rows, History int
}

// BatchInputs is the number of tensors that Batch makes.
const BatchInputs = 4

// Batch turns examples into the inputs of Loss: tokens [Rows, places] and their
// lengths [Rows], targets [Rows, Length] (all int32), and 1 for rows in use, 0
// for those that fill up the batch (float32). Of a history the last items are
// taken, as many as the shape has room for.
func (m *Model) Batch(items *Items, examples []Example, shape Shape) ([]*tensors.Tensor, error) {
	queries := make([]Query, len(examples))
	for i, e := range examples {
		queries[i] = e.Query
	}
	inputs, err := m.queryInputs(items, queries, shape)
	if err != nil {
		return nil, err
	}
	length := len(m.vocab)
	targets, inUse := make([]int32, shape.Rows*length), make([]float32, shape.Rows)
	for i, e := range examples {
		if e.Target < 0 || int(e.Target) >= items.Len() {
			return nil, fmt.Errorf("example %d has target %d, the catalogue has %d items", i, e.Target, items.Len())
		}
		for t, code := range items.ID(e.Target) {
			targets[i*length+t] = int32(code)
		}
		inUse[i] = 1
	}
	return append(inputs, tensors.FromFlatDataAndDimensions(targets, shape.Rows, length),
		tensors.FromFlatDataAndDimensions(inUse, shape.Rows)), nil
}

// Rooms are the numbers of items that a batch may have room for, ascending: few,
// so that short histories, which most are, do not cost what long ones do, and
// the engine has few programs to compile.
func (m *Model) Rooms() []int {
	n := m.Config.History
	return slices.Compact([]int{(n + 3) / 4, (n + 1) / 2, n})
}

// HistoryFor returns the room that a batch should have whose longest history is
// n.
func (m *Model) HistoryFor(n int) int {
	rooms := m.Rooms()
	at, _ := slices.BinarySearch(rooms, min(n, m.Config.History))
	return rooms[at]
}

// queryInputs makes the tokens [Rows, places] and lengths [Rows] of queries.
func (m *Model) queryInputs(items *Items, queries []Query, shape Shape) ([]*tensors.Tensor, error) {
	if err := m.checkItems(items); err != nil {
		return nil, err
	}
	if len(queries) > shape.Rows {
		return nil, fmt.Errorf("%d users do not fit into a batch of %d", len(queries), shape.Rows)
	}
	if shape.History < 1 || shape.History > m.Config.History {
		return nil, fmt.Errorf("a batch with room for %d items of history: the model reads 1 to %d", shape.History, m.Config.History)
	}
	places := m.places(shape.History)
	tokens, lengths := make([]int32, shape.Rows*places), make([]int32, shape.Rows)
	for i, q := range queries {
		for _, item := range q.History {
			if item < 0 || int(item) >= items.Len() {
				return nil, fmt.Errorf("the history of user %q has item %d, the catalogue has %d items", q.User, item, items.Len())
			}
		}
		row := append(tokens[i*places:i*places], m.userToken(q.User))
		for _, item := range q.History[max(0, len(q.History)-shape.History):] {
			for t, code := range items.ID(item) {
				row = append(row, int32(m.first[t])+int32(code))
			}
		}
		lengths[i] = int32(len(row))
	}
	return []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(tokens, shape.Rows, places),
		tensors.FromFlatDataAndDimensions(lengths, shape.Rows),
	}, nil
}
