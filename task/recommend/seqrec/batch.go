package seqrec

import (
	"fmt"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// Shape is the size of a batch: examples, and items of history that each has
// room for. The engine compiles a program for every shape.
type Shape struct {
	Rows, History int
}

// BatchInputs is the number of tensors that Batch makes.
func (m *Model) BatchInputs() int {
	if m.prior {
		return 4 + len(m.vocab.Codes)
	}
	return 4
}

// Batch turns examples into the inputs of Loss: tokens [Rows, places] and their
// lengths [Rows], targets [Rows, Length] (all int32), 1 for rows in use, 0 for rows
// that fill up the batch (float32) and, with a prior, the logarithms [Rows, codes] of
// its probabilities of each position's codes after the target's before it. A history is
// cut to its last items if the shape has no room for more.
func (m *Model) Batch(items *network.Items, examples []network.Example, shape Shape, prior *network.Masses) ([]*tensors.Tensor, error) {
	if m.prior != (prior != nil) {
		return nil, fmt.Errorf("a model that starts from a prior needs one, and no other does")
	}
	questions := make([]network.Question, len(examples))
	for i, e := range examples {
		questions[i] = e.Question
	}
	inputs, err := m.inputs(items, questions, shape)
	if err != nil {
		return nil, err
	}
	length := len(m.vocab.Codes)
	targets, inUse := make([]int32, shape.Rows*length), make([]float32, shape.Rows)
	for i, e := range examples {
		if err := items.Check(e.Target); err != nil {
			return nil, fmt.Errorf("the target of example %d: %w", i, err)
		}
		for t, code := range items.ID(e.Target) {
			targets[i*length+t] = int32(code)
		}
		inUse[i] = 1
	}
	inputs = append(inputs, tensors.FromFlatDataAndDimensions(targets, shape.Rows, length),
		tensors.FromFlatDataAndDimensions(inUse, shape.Rows))
	if prior != nil {
		inputs = append(inputs, m.priorOf(items, examples, shape.Rows, prior)...)
	}
	return inputs, nil
}

// priorOf are the prior's tensors of a batch.
func (m *Model) priorOf(items *network.Items, examples []network.Example, rows int, prior *network.Masses) []*tensors.Tensor {
	values := make([][]float32, len(m.vocab.Codes))
	for t, codes := range m.vocab.Codes {
		values[t] = make([]float32, rows*codes)
	}
	_ = parallel.Each(len(examples), 0, func(i int) error {
		answer, node := prior.AnswerWithout(examples[i]), items.Trie.Root()
		for t, code := range items.ID(examples[i].Target) {
			codes := m.vocab.Codes[t]
			answer.Children(node, values[t][i*codes:(i+1)*codes])
			node = items.Trie.Child(node, code)
		}
		return nil
	})
	all := make([]*tensors.Tensor, len(values))
	for t, codes := range m.vocab.Codes {
		all[t] = tensors.FromFlatDataAndDimensions(values[t], rows, codes)
	}
	return all
}

// Rooms are the numbers of items that a batch may have room for, ascending.
func (m *Model) Rooms() []int { return network.Rooms(m.Config.History) }

// inputs makes the tokens [Rows, places] and lengths [Rows] of questions.
func (m *Model) inputs(items *network.Items, questions []network.Question, shape Shape) ([]*tensors.Tensor, error) {
	if err := m.vocab.Check(items); err != nil {
		return nil, err
	}
	if len(questions) > shape.Rows {
		return nil, fmt.Errorf("%d users do not fit into a batch of %d", len(questions), shape.Rows)
	}
	if shape.History < 1 || shape.History > m.Config.History {
		return nil, fmt.Errorf("a batch with room for %d items of history: the model reads 1 to %d", shape.History, m.Config.History)
	}
	places := m.places(shape.History)
	if err := network.CheckRoom(shape.Rows, places, 1); err != nil {
		return nil, err
	}
	tokens, lengths := make([]int32, shape.Rows*places), make([]int32, shape.Rows)
	for i, q := range questions {
		for _, item := range q.History {
			if err := items.Check(item); err != nil {
				return nil, fmt.Errorf("the history of user %q: %w", q.Name, err)
			}
		}
		row := append(tokens[i*places:i*places], m.userToken(q.Name))
		for _, item := range q.History[max(0, len(q.History)-shape.History):] {
			for t, code := range items.ID(item) {
				row = append(row, m.vocab.Token(t, code))
			}
		}
		lengths[i] = int32(len(row))
	}
	return []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(tokens, shape.Rows, places),
		tensors.FromFlatDataAndDimensions(lengths, shape.Rows),
	}, nil
}
