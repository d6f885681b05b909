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

// Whole says whether targets compete with all items.
func (m *Model) Whole() bool { return 0 < m.start.Items && m.start.Items <= m.Config.Whole }

// readsNumbers says whether the query tower reads the numbers of items.
func (m *Model) readsNumbers() bool { return m.Config.Own && m.reads == Histories }

// BatchInputs is the number of tensors that Batch makes.
func (m *Model) BatchInputs() int {
	n := 2
	if m.readsNumbers() {
		n++
	}
	if m.Whole() {
		return n + 4
	}
	n += 3
	if m.Config.Own {
		n++
	}
	if m.start.Prior {
		n++
	}
	return n
}

// Batch makes the inputs of Loss: those of the questions (see inputs), and either
//
//   - the tokens of the targets [B, positions] (int32), their numbers [B] (int32) where items
//     have vectors of their own, logShares [B], the logarithm of the share of all examples that
//     have each target, the rivals [B, B], and the prior's scores [B, B], if there is one; or,
//     where targets compete with the whole catalogue,
//   - the tokens of all n items [n, positions], the targets [B] (both int32), the prior's scores
//     of all items [B, n], or 0, without those that are not to be beaten, and those of the
//     targets [B].
func (m *Model) Batch(items *network.Items, examples []network.Example, logShares []float32, prior network.Prior) (
	[]*tensors.Tensor, error) {
	if len(examples) == 0 {
		return nil, fmt.Errorf("a batch needs at least one example")
	}
	if m.start.Prior != (prior != nil) {
		return nil, fmt.Errorf("a model that starts from a prior needs one, and no other does")
	}
	n, questions, targets := len(examples), make([]network.Question, len(examples)), make([]int32, len(examples))
	for i, e := range examples {
		questions[i], targets[i] = e.Question, e.Target
		if err := items.Check(e.Target); err != nil {
			return nil, fmt.Errorf("the target of example %d: %w", i, err)
		}
	}
	inputs, err := m.inputs(items, questions, n)
	if err != nil {
		return nil, err
	}
	if m.Whole() {
		if items.Len() != m.start.Items {
			return nil, fmt.Errorf("the catalogue has %d items, the model was made for %d", items.Len(), m.start.Items)
		}
		offsets, own := wholeOffsets(items, examples, prior, m.Config.Own)
		return append(inputs, m.catalogueTokens(items), tensors.FromFlatDataAndDimensions(targets, n),
			tensors.FromFlatDataAndDimensions(offsets, n, items.Len()), tensors.FromFlatDataAndDimensions(own, n)), nil
	}
	var tokens []int32
	for _, target := range targets {
		for t, code := range items.ID(target) {
			tokens = append(tokens, m.vocab.Token(t, code))
		}
	}
	inputs = append(inputs, tensors.FromFlatDataAndDimensions(tokens, n, len(m.vocab.Codes)))
	if m.Config.Own {
		numbers := make([]int32, n)
		for i, target := range targets {
			numbers[i] = m.numberOf(target)
		}
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(numbers, n))
	}
	inputs = append(inputs, tensors.FromFlatDataAndDimensions(logShares, n),
		tensors.FromFlatDataAndDimensions(rivals(items, examples, m.Config.Own), n, n))
	if prior != nil {
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(targetScores(examples, prior), n, n))
	}
	return inputs, nil
}

// numberOf numbers items from 1; 0 is an item without a vector of its own.
func (m *Model) numberOf(item int32) int32 {
	if int(item) >= m.start.Items {
		return 0
	}
	return item + 1
}

// catalogueTokens are the tokens [n, positions] of all items.
func (m *Model) catalogueTokens(items *network.Items) *tensors.Tensor {
	length := len(m.vocab.Codes)
	tokens := make([]int32, 0, items.Len()*length)
	for item := range items.Len() {
		for t, code := range items.ID(int32(item)) {
			tokens = append(tokens, m.vocab.Token(t, code))
		}
	}
	return tensors.FromFlatDataAndDimensions(tokens, items.Len(), length)
}

// rivals is 1 where the target of a row competes with the target of a column, and
// on the diagonal; 0 where the other item answers the question too or cannot be told
// from it: it is the same or, unless items have vectors of their own, has the same ID.
func rivals(items *network.Items, examples []network.Example, own bool) []float32 {
	n := len(examples)
	matrix := make([]float32, n*n)
	for i, e := range examples {
		for j, other := range examples {
			_, answers := slices.BinarySearch(e.Relevant, other.Target)
			if i == j || !answers && !same(items, other.Target, e.Target, own) {
				matrix[i*n+j] = 1
			}
		}
	}
	return matrix
}

// same says whether two items have the same vector.
func same(items *network.Items, a, b int32, own bool) bool {
	return a == b || !own && items.Twins(a, b)
}

// room is the number of places that a batch has whose longest query is n.
func (m *Model) room(n int) int { return network.RoomFor(network.Rooms(m.Config.Length), n) }

// inputs makes the tensors of questions, filled up to a number of rows: tokens
// [positions, rows, places] of histories, the latest item first, or [1, rows, places]
// of words, their lengths [rows] and, where items have vectors of their own, the
// numbers of histories' items [rows, places]; all int32.
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
	if err := network.CheckRoom(rows, places, depth+1); err != nil {
		return nil, err
	}
	tokens, lengths, numbers := make([]int32, depth*rows*places), make([]int32, rows), make([]int32, rows*places)
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
			numbers[i*places+at] = m.numberOf(item)
			for t, code := range items.ID(item) {
				tokens[(t*rows+i)*places+at] = m.vocab.Token(t, code)
			}
		}
	}
	inputs := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(tokens, depth, rows, places),
		tensors.FromFlatDataAndDimensions(lengths, rows),
	}
	if m.readsNumbers() {
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(numbers, rows, places))
	}
	return inputs, nil
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
