package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/output"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// coder gives items the codes that their IDs are made of.
type coder interface {
	// describe says in a line what it is.
	describe() string
	// vocab is the number of codes of each position.
	vocab() []int
	// identity is what a table keeps, to know its coder again.
	identity() string
	// codes returns those of a catalogue's items, of which before others came
	// earlier: [items, len(vocab)].
	codes(ctx context.Context, c *itemSource, before int) ([]uint32, error)
	// ranked orders the last codes of an item by their distance from it.
	ranked(ctx context.Context, c *itemSource) (catalogue.Ranked, error)
	// store keeps in a directory of IDs what codes new items.
	store(dir string) error
	// course is the log of its training, if there was any.
	course() ([]vqtrain.Record, error)
	// meaning says how the codes of an ID hang together.
	meaning() string
}

// learned codes by a trained tokenizer.
type learned struct {
	bundle  *bundle.Bundle
	runtime *tokenizer.Runtime
	dir     string // of the bundle
}

// openLearned loads the tokenizer in dir.
func openLearned(dir, backend string) (*learned, error) {
	b, err := bundle.Load(dir)
	if err != nil {
		return nil, err
	}
	if b.Manifest.Kind != bundle.KindVectors {
		return nil, fmt.Errorf("semantic IDs need a tokenizer of vectors, not of pictures as in %s", dir)
	}
	engine, err := engine.Choose(backend)
	if err != nil {
		return nil, err
	}
	r, err := b.Runtime(engine)
	return &learned{b, r, dir}, err
}

func (l *learned) describe() string {
	return describeModel(l.bundle.Tokenizer.Spec, l.bundle.Manifest.Input)
}

func (l *learned) vocab() []int { return l.bundle.Manifest.Layout.Vocab }

func (l *learned) identity() string { return fmt.Sprintf("%x", l.bundle.Manifest.Fingerprint()) }

func (l *learned) codes(ctx context.Context, c *itemSource, _ int) ([]uint32, error) {
	x, err := c.rows(ctx, l.bundle.Manifest.Input)
	if err != nil {
		return nil, err
	}
	return l.runtime.Encode(ctx, x, len(c.items), tokenizer.Options{})
}

// ranked looks at the slice of the latent that the last position codes, less
// what earlier levels of that slice took off.
func (l *learned) ranked(ctx context.Context, c *itemSource) (catalogue.Ranked, error) {
	layout, books := l.runtime.Tokenizer().Quantizer.Layout(), l.runtime.Codebooks()
	x, err := c.rows(ctx, l.bundle.Manifest.Input)
	if err != nil {
		return nil, err
	}
	z, err := l.runtime.Latents(ctx, x, len(c.items))
	if err != nil {
		return nil, err
	}
	from, to := layout.Bounds(layout.Parts - 1)
	last := books[len(books)-1]
	return func(item int, prefix []uint32) []uint32 {
		rest := slices.Clone(z[item*layout.Dim+from : item*layout.Dim+to])
		for position := (layout.Parts - 1) * layout.Levels; position < len(prefix); position++ {
			for j, x := range books[position].Row(int(prefix[position])) {
				rest[j] -= x
			}
		}
		order, gap := make([]uint32, last.Shape[0]), make([]float64, last.Shape[0])
		for i := range order {
			order[i], gap[i] = uint32(i), index.SquaredDistance(rest, last.Row(i))
		}
		slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(gap[a], gap[b]) })
		return order
	}, nil
}

func (l *learned) store(dir string) error {
	own := filepath.Join(dir, idsTokenizer)
	if filepath.Clean(l.dir) == filepath.Clean(own) {
		return nil
	}
	if err := output.MakeDir(own); err != nil {
		return err
	}
	if err := bundle.Clear(own); err != nil {
		return err
	}
	log, err := os.ReadFile(filepath.Join(l.dir, bundle.LogFile))
	if err == nil {
		err = atomicfile.Write(filepath.Join(own, bundle.LogFile), func(w io.Writer) error {
			_, err := w.Write(log)
			return err
		})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return bundle.Write(own, l.bundle)
}

func (l *learned) course() ([]vqtrain.Record, error) {
	records, err := vqtrain.ReadLog(filepath.Join(l.dir, bundle.LogFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a bundle is whole without its log
	}
	return records, err
}

func (l *learned) meaning() string {
	const alike = "Items that share codes should be alike. "
	switch q := l.bundle.Tokenizer.Spec.Quantizer; {
	case q.Method == "lsh":
		return alike + "Each code tells on which sides of random planes an item lies; none is coarser than another."
	case q.Parts > 1:
		return alike + "Each code describes a slice of an item's latent; none is coarser than another."
	}
	return "Items whose IDs begin alike should be alike: the first code is the coarsest, each further one narrows it down."
}

// numbered codes by the numbers of items alone.
type numbered struct {
	numbering catalogue.Numbering
	sizes     []int
}

func (n numbered) describe() string {
	return fmt.Sprintf("dense, the items' numbers in a random order (seed %d), spelled in %d digits to the base %d", n.numbering.Seed, len(n.sizes), n.sizes[0])
}

func (n numbered) vocab() []int { return n.sizes }

func (n numbered) identity() string { return n.numbering.String() }

func (n numbered) codes(_ context.Context, c *itemSource, before int) ([]uint32, error) {
	return n.numbering.Codes(n.sizes, before, len(c.items))
}

// ranked is never asked: numbers do not collide.
func (n numbered) ranked(context.Context, *itemSource) (catalogue.Ranked, error) {
	return func(int, []uint32) []uint32 { return nil }, nil
}

// store leaves no tokenizer behind that had no part in the IDs.
func (n numbered) store(dir string) error {
	own := filepath.Join(dir, idsTokenizer)
	if state, err := bundle.Kind.State(own); err != nil || state == artifact.Absent {
		return err
	}
	if err := bundle.Clear(own); err != nil {
		return err
	}
	os.Remove(own) // only if empty
	return nil
}

func (n numbered) course() ([]vqtrain.Record, error) { return nil, nil }

func (n numbered) meaning() string {
	return "Nothing: these IDs are numbers in random order, so items that share codes have nothing in common."
}

// coderOf finds what made the table in dir.
func coderOf(dir string, table *catalogue.Table, backend string) (coder, error) {
	if numbering, ok := catalogue.ParseNumbering(table.Tokenizer()); ok {
		return numbered{numbering, table.Vocab()[:table.Levels()]}, nil
	}
	l, err := openLearned(filepath.Join(dir, idsTokenizer), backend)
	if err != nil {
		return nil, err
	}
	if table.Tokenizer() != l.identity() {
		return nil, fmt.Errorf("the tokenizer in %s is not the one that made the table; restore it, or make the IDs anew", l.dir)
	}
	return l, nil
}
