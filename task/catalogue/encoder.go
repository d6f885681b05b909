package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// itemEncoder gives items the codes of their IDs: a tokenizer or a numbering.
type itemEncoder interface {
	origin() origin
	// encode returns codes [items, len(vocab)] for items that follow before
	// earlier ones and, if codes may move, distances to the last codes.
	encode(ctx context.Context, s *source, before int, move bool) ([]uint32, Distances, error)
	// store writes the encoder into a table's directory, for items added later.
	store(dir string) error
}

type origin struct {
	identity    string // kept in the table, to recognise the encoder
	vocab       []int  // codes of each position
	description string // one line
	meaning     string // how the codes of an ID relate to each other
	training    []vqtrain.Record
}

type tokenizerEncoder struct {
	*tokenize.Opened
	dir  string // of the bundle
	from origin
}

func openTokenizer(dir, backend string) (*tokenizerEncoder, error) {
	opened, err := tokenize.Open(dir, backend)
	if err != nil {
		return nil, err
	}
	b := opened.Bundle
	if b.Tokenizer.Modality().Kind() != dataset.Vectors {
		return nil, fmt.Errorf("semantic IDs need a tokenizer of vectors, not of pictures as in %s", dir)
	}
	records, err := vqtrain.ReadLog(filepath.Join(dir, bundle.LogFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a bundle is complete without its log
		return nil, err
	}
	return &tokenizerEncoder{opened, dir, origin{
		identity: fmt.Sprintf("%x", b.Manifest.Fingerprint()), vocab: b.Manifest.Layout.Vocab, training: records,
		description: b.Tokenizer.Spec.Describe(b.Manifest.Input), meaning: meaning(b.Tokenizer.Spec.Quantizer),
	}}, nil
}

func meaning(q vq.Config) string {
	const alike = "Items that share codes should be alike. "
	switch m, _ := vq.MethodNamed(q.Method); {
	case m.Meaning != "":
		return alike + m.Meaning
	case q.Parts > 1:
		return alike + "Each code describes a slice of an item's latent; none is coarser than another."
	}
	return "Items whose IDs begin alike should be alike: the first code is the coarsest, each further one narrows it down."
}

func (t *tokenizerEncoder) origin() origin { return t.from }

func (t *tokenizerEncoder) encode(ctx context.Context, s *source, _ int, move bool) ([]uint32, Distances, error) {
	if want := t.Bundle.Manifest.Input; s.dim != want {
		return nil, nil, fmt.Errorf("%s has %d dimensions, the tokenizer was trained on %d; give vectors of the same kind",
			cmp.Or(s.Input, s.vectors), s.dim-s.factors, want-s.factors)
	}
	batch := dataset.VectorBatch(s.values, len(s.items))
	codes, err := t.Runtime.Encode(ctx, batch, tokenizer.Options{})
	if err != nil || !move {
		return codes, nil, err
	}
	latents, err := t.Runtime.Latents(ctx, batch)
	return codes, t.distances(ctx, latents), err
}

// distances compares the latents [n, dim] with the vectors of an item's codes, for every code of the last position.
func (t *tokenizerEncoder) distances(ctx context.Context, latents []float32) Distances {
	model := t.Runtime.Tokenizer()
	layout := model.Quantizer.Layout()
	from, to := layout.Bounds(layout.Parts - 1) // other parts do not depend on the last code
	last, d := layout.Vocab[layout.Positions()-1], layout.Dim
	return func(item int, prefix []uint32) []float64 {
		distance := make([]float64, last)
		codes := make([]uint32, 0, last*layout.Positions())
		for i := range distance {
			codes = append(append(codes, prefix...), uint32(i))
		}
		vectors, err := t.Runtime.LookUp(ctx, codes, model.Cells(last), layout.Positions())
		if err != nil {
			return nil // the codes are not the tokenizer's
		}
		for i := range distance {
			distance[i] = index.SquaredDistance(latents[item*d+from:item*d+to], vectors[i*d+from:i*d+to])
		}
		return distance
	}
}

// store copies the bundle, unless it was trained there.
func (t *tokenizerEncoder) store(dir string) error {
	own := filepath.Join(dir, TokenizerDir)
	if filepath.Clean(t.dir) == filepath.Clean(own) {
		return nil
	}
	if err := output.MakeDir(own); err != nil {
		return err
	}
	if err := bundle.Clear(own); err != nil {
		return err
	}
	log, err := os.ReadFile(filepath.Join(t.dir, bundle.LogFile))
	if err == nil {
		err = writeFile(filepath.Join(own, bundle.LogFile), log)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return bundle.Write(own, t.Bundle)
}

type denseEncoder struct {
	numbering Numbering
	vocab     []int
}

func (d denseEncoder) origin() origin {
	return origin{
		identity: d.numbering.String(), vocab: d.vocab,
		description: fmt.Sprintf("dense, the items' numbers in a random order (seed %d), spelled in %d digits to the base %d",
			d.numbering.Seed, len(d.vocab), d.vocab[0]),
		meaning: "Nothing: these IDs are numbers in random order, so items that share codes have nothing in common.",
	}
}

func (d denseEncoder) encode(_ context.Context, s *source, before int, _ bool) ([]uint32, Distances, error) {
	codes, err := d.numbering.Codes(d.vocab, before, len(s.items))
	none := make([]float64, d.vocab[len(d.vocab)-1]) // codes without meaning are all alike
	return codes, func(int, []uint32) []float64 { return none }, err
}

// store removes the tokenizer of a table that is replaced.
func (d denseEncoder) store(dir string) error {
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

func encoderOf(dir string, table *Table, backend string) (itemEncoder, error) {
	if numbering, ok := ParseNumbering(table.tokenizer); ok {
		return denseEncoder{numbering, table.Vocab()[:table.Levels()]}, nil
	}
	t, err := openTokenizer(filepath.Join(dir, TokenizerDir), backend)
	if err != nil {
		return nil, err
	}
	if table.tokenizer != t.from.identity {
		return nil, fmt.Errorf("the tokenizer in %s is not the one that made the table; restore it, or make the IDs anew", t.dir)
	}
	return t, nil
}

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
