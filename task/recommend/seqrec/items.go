package seqrec

import (
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/index"
)

// Items is the catalogue as a model sees it: the ID of every item. It is
// immutable, so any number of goroutines may use it at once.
type Items struct {
	codes []uint32 // [n, length]
	vocab []int
	trie  *index.Trie
}

// NewItems takes the IDs [n, L] of n items, row-major, position t of which has
// codes below vocab[t], L = len(vocab). IDs should be unique: items that share
// one cannot be told apart and are recommended together.
func NewItems(codes []uint32, vocab []int) (*Items, error) {
	if len(vocab) == 0 || len(codes) == 0 {
		return nil, fmt.Errorf("a catalogue needs items and IDs of at least one position, got %d codes in %d positions", len(codes), len(vocab))
	}
	trie, err := index.NewTrie(codes, len(codes)/len(vocab), vocab)
	if err != nil {
		return nil, fmt.Errorf("the IDs of the items: %w", err)
	}
	return &Items{codes: slices.Clone(codes), vocab: slices.Clone(vocab), trie: trie}, nil
}

// Len is the number of items.
func (items *Items) Len() int { return len(items.codes) / len(items.vocab) }

// ID returns the codes of an item. The caller must not modify them.
func (items *Items) ID(item int32) []uint32 {
	length := len(items.vocab)
	return items.codes[int(item)*length : (int(item)+1)*length : (int(item)+1)*length]
}

// checkItems refuses IDs that the model has no tokens for.
func (m *Model) checkItems(items *Items) error {
	if err := m.vocab.CheckLength(len(items.vocab)); err != nil {
		return err
	}
	for t, codes := range items.vocab {
		if codes > m.vocab.Codes[t] {
			return fmt.Errorf("position %d of the items' IDs has %d codes, the model knows %d; train it on this catalogue", t, codes, m.vocab.Codes[t])
		}
	}
	return nil
}
