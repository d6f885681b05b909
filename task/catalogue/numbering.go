package catalogue

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
)

// withoutContent says that an encoder does not look at the items.
type withoutContent interface{ withoutContent() }

// randomEncoder spells the items' numbers in codes.
type randomEncoder struct {
	numbering Numbering
	vocab     []int
}

func (randomEncoder) withoutContent() {}

func (d randomEncoder) origin() origin {
	return origin{
		identity: d.numbering.String(), vocab: d.vocab,
		description: fmt.Sprintf("random codes, the items' numbers in a random order (seed %d), spelled in %d digits to the base %d",
			d.numbering.Seed, len(d.vocab), d.vocab[0]),
		meaning: "Nothing: these IDs are numbers in random order, so items that share codes have nothing in common.",
	}
}

func (d randomEncoder) encode(_ context.Context, s *source, before int, _ bool) ([]uint32, Distances, error) {
	codes, err := d.numbering.Codes(d.vocab, before, len(s.items))
	none := make([]float64, d.vocab[len(d.vocab)-1]) // codes without meaning are all alike
	return codes, func(int, []uint32) []float64 { return none }, err
}

func (d randomEncoder) store(dir string) error { return withoutTokenizer(dir) }

// withoutTokenizer removes the tokenizer of a table that is replaced.
func withoutTokenizer(dir string) error {
	own := filepath.Join(dir, TokenizerDir)
	if state, err := bundle.Kind.State(own); err != nil || state == artifact.Absent {
		return err
	}
	if err := bundle.Clear(own); err != nil {
		return err
	}
	os.Remove(own) // only if empty
	return nil
}

// Numbering gives items random codes without meaning: a baseline of semantic IDs. Item i gets place i of a
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
