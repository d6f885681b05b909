package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// itemEncoder gives items the codes of their IDs: a tokenizer or a numbering.
type itemEncoder interface {
	origin() origin
	// encode returns codes [items, len(vocab)] for items that follow before
	// earlier ones.
	encode(ctx context.Context, s *source, before int) ([]uint32, error)
	// rank orders the last codes of each item by their distance from it.
	rank(ctx context.Context, s *source) (Ranked, error)
	// store keeps in a table's directory what encodes items that are added later.
	store(dir string) error
}

// origin describes where codes come from.
type origin struct {
	identity    string // kept in the table, to recognise the encoder
	vocab       []int  // codes of each position
	description string // one line
	meaning     string // how the codes of an ID relate to each other
	training    []vqtrain.Record
}

// tokenizerEncoder encodes embeddings by a trained tokenizer.
type tokenizerEncoder struct {
	bundle  *bundle.Bundle
	runtime *tokenizer.Runtime
	dir     string // of the bundle
	from    origin
}

// openTokenizer loads the tokenizer in dir.
func openTokenizer(dir, backend string) (*tokenizerEncoder, error) {
	b, err := bundle.Load(dir)
	if err != nil {
		return nil, err
	}
	if b.Manifest.Kind != bundle.KindVectors {
		return nil, fmt.Errorf("semantic IDs need a tokenizer of vectors, not of pictures as in %s", dir)
	}
	started, err := engine.Choose(backend)
	if err != nil {
		return nil, err
	}
	r, err := b.Runtime(started)
	if err != nil {
		return nil, err
	}
	records, err := vqtrain.ReadLog(filepath.Join(dir, bundle.LogFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a bundle is complete without its log
		return nil, err
	}
	return &tokenizerEncoder{b, r, dir, origin{
		identity: fmt.Sprintf("%x", b.Manifest.Fingerprint()), vocab: b.Manifest.Layout.Vocab,
		description: Describe(b.Tokenizer.Spec, b.Manifest.Input), meaning: meaning(b.Tokenizer.Spec.Quantizer), training: records,
	}}, nil
}

// Describe is set by the command line.
var Describe func(tokenizer.Spec, int) string

// meaning explains the codes of a quantizer.
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

func (t *tokenizerEncoder) encode(ctx context.Context, s *source, _ int) ([]uint32, error) {
	x, err := s.embeddings(ctx, t.bundle.Manifest.Input)
	if err != nil {
		return nil, err
	}
	return t.runtime.Encode(ctx, x, len(s.items), tokenizer.Options{})
}

// rank compares the last codebook with what the earlier levels of the last part
// leave of its slice of the latent.
func (t *tokenizerEncoder) rank(ctx context.Context, s *source) (Ranked, error) {
	layout, books := t.runtime.Tokenizer().Quantizer.Layout(), t.runtime.Codebooks()
	x, err := s.embeddings(ctx, t.bundle.Manifest.Input)
	if err != nil {
		return nil, err
	}
	z, err := t.runtime.Latents(ctx, x, len(s.items))
	if err != nil {
		return nil, err
	}
	from, to := layout.Bounds(layout.Parts - 1)
	last := books[len(books)-1]
	return func(item int, prefix []uint32) []uint32 {
		residual := slices.Clone(z[item*layout.Dim+from : item*layout.Dim+to])
		for position := (layout.Parts - 1) * layout.Levels; position < len(prefix); position++ {
			for j, x := range books[position].Row(int(prefix[position])) {
				residual[j] -= x
			}
		}
		order, distance := make([]uint32, last.Shape[0]), make([]float64, last.Shape[0])
		for i := range order {
			order[i], distance[i] = uint32(i), index.SquaredDistance(residual, last.Row(i))
		}
		slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(distance[a], distance[b]) })
		return order
	}, nil
}

// store copies the bundle and its log, unless it was trained there.
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
	return bundle.Write(own, t.bundle)
}

// denseEncoder spells the numbers of items in a random order; their embeddings
// have no part in it.
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

func (d denseEncoder) encode(_ context.Context, s *source, before int) ([]uint32, error) {
	return d.numbering.Codes(d.vocab, before, len(s.items))
}

// rank returns nothing to choose from: numbers do not collide.
func (d denseEncoder) rank(context.Context, *source) (Ranked, error) {
	return func(int, []uint32) []uint32 { return nil }, nil
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

// encoderOf opens the encoder that made the table in dir.
func encoderOf(dir string, table *Table, backend string) (itemEncoder, error) {
	if numbering, ok := ParseNumbering(table.Tokenizer()); ok {
		return denseEncoder{numbering, table.Vocab()[:table.Levels()]}, nil
	}
	t, err := openTokenizer(filepath.Join(dir, TokenizerDir), backend)
	if err != nil {
		return nil, err
	}
	if table.Tokenizer() != t.from.identity {
		return nil, fmt.Errorf("the tokenizer in %s is not the one that made the table; restore it, or make the IDs anew", t.dir)
	}
	return t, nil
}
