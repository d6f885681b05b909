package network

import (
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/index"
)

// Items is a catalogue as networks see it: the ID of every item. It is immutable,
// so any number of goroutines may use it at once.
type Items struct {
	Trie *index.Trie // of the IDs

	codes []uint32 // [n, length]
	vocab []int
	twins []int32 // [n] the first item with the same ID
}

// NewItems takes the IDs [n, L] of n items, row-major; position t has codes below
// vocab[t], L = len(vocab). IDs should be unique: items with the same ID are always
// found together.
func NewItems(codes []uint32, vocab []int) (*Items, error) {
	if len(vocab) == 0 || len(codes) == 0 {
		return nil, fmt.Errorf("a catalogue needs items and IDs of at least one position, got %d codes in %d positions", len(codes), len(vocab))
	}
	trie, err := index.NewTrie(codes, len(codes)/len(vocab), vocab)
	if err != nil {
		return nil, fmt.Errorf("the IDs of the items: %w", err)
	}
	items := &Items{Trie: trie, codes: slices.Clone(codes), vocab: slices.Clone(vocab), twins: make([]int32, len(codes)/len(vocab))}
	for i := range items.twins {
		items.twins[i] = int32(trie.Items(trie.Find(items.ID(int32(i))))[0])
	}
	return items, nil
}

// Len is the number of items.
func (items *Items) Len() int { return len(items.twins) }

// ID returns the codes of an item. The caller must not modify them.
func (items *Items) ID(item int32) []uint32 {
	length := len(items.vocab)
	return items.codes[int(item)*length : (int(item)+1)*length : (int(item)+1)*length]
}

// Twins says whether two items have the same ID.
func (items *Items) Twins(a, b int32) bool { return items.twins[a] == items.twins[b] }

// Check refuses an item that is not in the catalogue.
func (items *Items) Check(item int32) error {
	if item < 0 || int(item) >= items.Len() {
		return fmt.Errorf("item %d is not in the catalogue, which has %d items", item, items.Len())
	}
	return nil
}

// Vocabulary numbers the codes of IDs as tokens, one position after the other.
type Vocabulary struct {
	Codes  []int // of each position
	First  []int // token of each position's code 0
	Tokens int   // including those before the first position
}

// NewVocabulary numbers codes from token first on.
func NewVocabulary(codes []int, first int) (Vocabulary, error) {
	v := Vocabulary{Tokens: first}
	if len(codes) == 0 {
		return v, fmt.Errorf("a network needs IDs of at least one position")
	}
	for t, n := range codes {
		if n < 1 {
			return v, fmt.Errorf("position %d of an ID has %d codes; it needs at least one", t, n)
		}
		v.Codes, v.First = append(v.Codes, n), append(v.First, v.Tokens)
		v.Tokens += n
	}
	if v.Tokens > math.MaxInt32 {
		return v, fmt.Errorf("a vocabulary of %d tokens is too large; use fewer than %d", v.Tokens, math.MaxInt32)
	}
	return v, nil
}

// Token numbers a code of position t.
func (v Vocabulary) Token(t int, code uint32) int32 { return int32(v.First[t]) + int32(code) }

// Check refuses items whose IDs have codes without tokens.
func (v Vocabulary) Check(items *Items) error {
	if len(items.vocab) != len(v.Codes) {
		return fmt.Errorf("the items have IDs of %d codes, the model of %d; use the model that was made for them", len(items.vocab), len(v.Codes))
	}
	for t, codes := range items.vocab {
		if codes > v.Codes[t] {
			return fmt.Errorf("position %d of the items' IDs has %d codes, the model knows %d; train it on this catalogue", t, codes, v.Codes[t])
		}
	}
	return nil
}
