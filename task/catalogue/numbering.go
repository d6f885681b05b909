package catalogue

import (
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/dataset"
)

// Numbering gives items dense IDs without meaning: the baseline of semantic IDs. Item i gets place i of a
// seeded random order of all IDs that the vocabularies allow, spelled digit by digit. The order is random
// because neighbours in a catalogue's own order were often bought together.
type Numbering struct {
	Seed uint64
	// Stream of Streams separates catalogues that share the IDs: item i of a
	// stream has number i·Streams + Stream. Zero values mean a single stream.
	Stream, Streams int
}

// Codes returns the IDs [n, len(vocab)] of items first to first+n-1, row-major.
// It fails if the vocabularies allow fewer IDs, or more than can be counted.
func (s Numbering) Codes(vocab []int, first, n int) ([]uint32, error) {
	streams := max(1, s.Streams)
	if s.Stream < 0 || s.Stream >= streams || first < 0 || n < 0 {
		return nil, fmt.Errorf("items %d to %d of stream %d of %d cannot be numbered", first, first+n-1, s.Stream, streams)
	}
	places := uint64(1)
	for level, size := range vocab {
		if size < 1 || places > math.MaxInt/uint64(size) {
			return nil, fmt.Errorf("IDs with %d values at level %d are too many to be numbered, or none; use fewer codes or levels", size, level)
		}
		places *= uint64(size)
	}
	if n > 0 && (uint64(s.Stream) >= places || uint64(first+n-1) > (places-1-uint64(s.Stream))/uint64(streams)) {
		return nil, fmt.Errorf("vocabularies of %v spell %d IDs, too few for %d items; use more codes or levels",
			vocab, places, (first+n)*streams)
	}
	order := dataset.NewPermutation(int(places), s.Seed)
	codes := make([]uint32, 0, n*len(vocab))
	for i := first; i < first+n; i++ {
		place := order.At(i*streams + s.Stream)
		start := len(codes)
		for _, size := range slices.Backward(vocab) { // the last digit first
			codes = append(codes, uint32(place%size))
			place /= size
		}
		slices.Reverse(codes[start:])
	}
	return codes, nil
}

// String identifies the numbering in a table.
func (s Numbering) String() string {
	return fmt.Sprintf("numbering seed=%d stream=%d/%d", s.Seed, s.Stream, max(1, s.Streams))
}

// ParseNumbering reads the result of String; ok is false for a tokenizer's fingerprint.
func ParseNumbering(text string) (s Numbering, ok bool) {
	n, err := fmt.Sscanf(text, "numbering seed=%d stream=%d/%d", &s.Seed, &s.Stream, &s.Streams)
	if n != 3 || err != nil || s.String() != text || s.Stream < 0 || s.Stream >= s.Streams {
		return Numbering{}, false
	}
	return s, true
}
