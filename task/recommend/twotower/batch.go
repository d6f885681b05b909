package twotower

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/task/recommend/network"
)

// Query is what a query tower reads: the items of a history as numbers in
// Items, the latest last, or what Words makes of a text. It may be empty.
type Query []int32

// Example is a query and an item that answers it.
type Example struct {
	Query  Query
	Target int32
	// Answers are all items that answer the query, ascending, if there are more
	// than the target: none of them is to be beaten.
	Answers []int32
	// LogShare is the logarithm of the share of all examples that have this
	// target. It is read where the model corrects for popularity.
	LogShare float32
}

// BatchInputs is the number of tensors that Batch makes.
const BatchInputs = 5

// Batch turns examples into the inputs of Loss: those of the queries (see
// queryInputs), the tokens of the targets [B, positions] (int32), the logarithm
// of each target's share [B], and [B, B], 1 where the target of a column is to
// be beaten by that of the row, or is the row's own, and 0 elsewhere (float32).
func (m *Model) Batch(items *Items, examples []Example) ([]*tensors.Tensor, error) {
	if len(examples) == 0 {
		return nil, fmt.Errorf("a batch needs at least one example")
	}
	queries := make([]Query, len(examples))
	for i, e := range examples {
		queries[i] = e.Query
		if err := items.check(e.Target); err != nil {
			return nil, fmt.Errorf("the target of example %d: %w", i, err)
		}
	}
	inputs, err := m.queryInputs(items, queries, len(queries))
	if err != nil {
		return nil, err
	}
	n := len(examples)
	targets, shares := make([]int32, 0, n*len(m.vocab.Codes)), make([]float32, n)
	for i, e := range examples {
		targets, shares[i] = append(targets, items.of(e.Target)...), e.LogShare
	}
	return append(inputs, tensors.FromFlatDataAndDimensions(targets, n, len(m.vocab.Codes)),
		tensors.FromFlatDataAndDimensions(shares, n),
		tensors.FromFlatDataAndDimensions(rivals(items, examples), n, n)), nil
}

// rivals tells which targets of a batch an example's own has to beat: all but
// those that answer its query too, and those with the same ID.
func rivals(items *Items, examples []Example) []float32 {
	n := len(examples)
	matrix := make([]float32, n*n)
	for i, e := range examples {
		for j, other := range examples {
			_, answers := slices.BinarySearch(e.Answers, other.Target)
			if i == j || !answers && items.twin[other.Target] != items.twin[e.Target] {
				matrix[i*n+j] = 1
			}
		}
	}
	return matrix
}

// room is the number of places that a batch has whose longest query is n.
func (m *Model) room(n int) int { return network.RoomFor(network.Rooms(m.Config.Length), n) }

// queryInputs makes the two tensors of queries, filled up to a number of rows:
// tokens [positions, rows, places] of histories, the latest item first, or
// [1, rows, places] of words, and their lengths [rows]; all int32.
func (m *Model) queryInputs(items *Items, queries []Query, rows int) ([]*tensors.Tensor, error) {
	longest := 0
	for _, q := range queries {
		longest = max(longest, len(q))
	}
	places, depth := m.room(longest), 1
	if m.reads == Histories {
		depth = len(m.vocab.Codes)
	}
	tokens, lengths := make([]int32, depth*rows*places), make([]int32, rows)
	for i, q := range queries {
		length := min(len(q), places)
		lengths[i] = int32(length)
		for at := range length {
			if m.reads == Words {
				tokens[i*places+at] = q[at]
				continue
			}
			item := q[len(q)-1-at]
			if err := items.check(item); err != nil {
				return nil, fmt.Errorf("the history of query %d: %w", i, err)
			}
			for t, token := range items.of(item) {
				tokens[(t*rows+i)*places+at] = token
			}
		}
	}
	return []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(tokens, depth, rows, places),
		tensors.FromFlatDataAndDimensions(lengths, rows),
	}, nil
}
