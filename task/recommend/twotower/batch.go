package twotower

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/task/recommend/network"
)

// BatchInputs is the number of tensors that Batch makes.
const BatchInputs = 5

// Batch makes the inputs of Loss: two of the questions (see inputs), the tokens of
// the targets [B, positions] (int32), logShares [B], the logarithm of the share of
// all examples that have each target, and the rivals [B, B] (float32).
func (m *Model) Batch(items *network.Items, examples []network.Example, logShares []float32) ([]*tensors.Tensor, error) {
	if len(examples) == 0 {
		return nil, fmt.Errorf("a batch needs at least one example")
	}
	n, questions, targets := len(examples), make([]network.Question, len(examples)), []int32{}
	for i, e := range examples {
		questions[i] = e.Question
		if err := items.Check(e.Target); err != nil {
			return nil, fmt.Errorf("the target of example %d: %w", i, err)
		}
		for t, code := range items.ID(e.Target) {
			targets = append(targets, m.vocab.Token(t, code))
		}
	}
	inputs, err := m.inputs(items, questions, n)
	if err != nil {
		return nil, err
	}
	return append(inputs, tensors.FromFlatDataAndDimensions(targets, n, len(m.vocab.Codes)),
		tensors.FromFlatDataAndDimensions(logShares, n),
		tensors.FromFlatDataAndDimensions(rivals(items, examples), n, n)), nil
}

// rivals is 1 where the target of a row competes with the target of a column, and
// on the diagonal; 0 where the other item answers the question too or has the same
// ID.
func rivals(items *network.Items, examples []network.Example) []float32 {
	n := len(examples)
	matrix := make([]float32, n*n)
	for i, e := range examples {
		for j, other := range examples {
			_, answers := slices.BinarySearch(e.Relevant, other.Target)
			if i == j || !answers && !items.Twins(other.Target, e.Target) {
				matrix[i*n+j] = 1
			}
		}
	}
	return matrix
}

// room is the number of places that a batch has whose longest query is n.
func (m *Model) room(n int) int { return network.RoomFor(network.Rooms(m.Config.Length), n) }

// inputs makes the two tensors of questions, filled up to a number of rows:
// tokens [positions, rows, places] of histories, the latest item first, or
// [1, rows, places] of words, and their lengths [rows]; all int32.
func (m *Model) inputs(items *network.Items, questions []network.Question, rows int) ([]*tensors.Tensor, error) {
	if err := m.vocab.Check(items); err != nil {
		return nil, err
	}
	read, longest := make([][]int32, len(questions)), 0
	for i, q := range questions {
		read[i] = m.read(q)
		longest = max(longest, len(read[i]))
	}
	places, depth := m.room(longest), 1
	if m.reads == Histories {
		depth = len(m.vocab.Codes)
	}
	tokens, lengths := make([]int32, depth*rows*places), make([]int32, rows)
	for i, list := range read {
		length := min(len(list), places)
		lengths[i] = int32(length)
		for at := range length {
			if m.reads == Words {
				tokens[i*places+at] = list[at]
				continue
			}
			item := list[len(list)-1-at]
			if err := items.Check(item); err != nil {
				return nil, fmt.Errorf("the history of question %d: %w", i, err)
			}
			for t, code := range items.ID(item) {
				tokens[(t*rows+i)*places+at] = m.vocab.Token(t, code)
			}
		}
	}
	return []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(tokens, depth, rows, places),
		tensors.FromFlatDataAndDimensions(lengths, rows),
	}, nil
}

// read returns the part of a question that the query tower reads: items, the
// latest last, or words.
func (m *Model) read(q network.Question) []int32 {
	if m.reads == Words {
		return m.Words(q.Text)
	}
	return q.History
}

// Words turns the text of a search into words, runs of letters and digits without
// regard to case, hashed into the model's buckets.
func (m *Model) Words(text string) []int32 {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	tokens := make([]int32, len(words))
	for i, word := range words {
		h := fnv.New64a()
		h.Write([]byte(word))
		tokens[i] = int32(h.Sum64() % uint64(m.Config.WordBuckets))
	}
	return tokens
}
