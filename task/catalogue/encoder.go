package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/memory"
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
	log, err := memory.ReadFile(filepath.Join(t.dir, bundle.LogFile))
	if err == nil {
		err = writeFile(filepath.Join(own, bundle.LogFile), log)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return bundle.Write(own, t.Bundle)
}

func encoderOf(dir string, table *Table, backend string) (itemEncoder, error) {
	if table.tokenizer == denseIdentity {
		return &denseEncoder{}, nil
	}
	if numbering, ok := ParseNumbering(table.tokenizer); ok {
		return randomEncoder{numbering, table.Vocab()[:table.Levels()]}, nil
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
