package twotower

import (
	"encoding/binary"
	"fmt"
)

// Items is a catalogue as a model sees it: the tokens of every item. It is
// immutable, so any number of goroutines may use it at once.
type Items struct {
	tokens []int32 // [n, length]
	length int
	twin   []int32 // [n] the first item with the same ID
}

// Items takes the IDs [n, L] of n items, row-major, position t of which has
// codes below vocab[t]: no more than the model was made for. Items that share an
// ID have the same vector.
func (m *Model) Items(codes []uint32, vocab []int) (*Items, error) {
	length := len(m.vocab.Codes)
	if err := m.vocab.CheckLength(len(vocab)); err != nil {
		return nil, err
	}
	if len(codes) == 0 || len(codes)%length != 0 {
		return nil, fmt.Errorf("%d codes are no catalogue of IDs of %d codes", len(codes), length)
	}
	items := &Items{tokens: make([]int32, len(codes)), length: length, twin: make([]int32, len(codes)/length)}
	for i, code := range codes {
		t := i % length
		if known := m.vocab.Codes[t]; int(code) >= known {
			return nil, fmt.Errorf("item %d has code %d at position %d, the model knows %d; train it on this catalogue", i/length, code, t, known)
		}
		items.tokens[i] = int32(m.vocab.First[t]) + int32(code)
	}
	seen, key := map[string]int32{}, []byte{}
	for i := range items.twin {
		key = key[:0]
		for _, token := range items.of(int32(i)) {
			key = binary.LittleEndian.AppendUint32(key, uint32(token))
		}
		first, known := seen[string(key)]
		if !known {
			first = int32(i)
			seen[string(key)] = first
		}
		items.twin[i] = first
	}
	return items, nil
}

// Len is the number of items.
func (items *Items) Len() int { return len(items.twin) }

// of returns the tokens of an item.
func (items *Items) of(item int32) []int32 {
	return items.tokens[int(item)*items.length : (int(item)+1)*items.length]
}

// check refuses an item that is not in the catalogue.
func (items *Items) check(item int32) error {
	if item < 0 || int(item) >= items.Len() {
		return fmt.Errorf("item %d is not in the catalogue, which has %d items", item, items.Len())
	}
	return nil
}
