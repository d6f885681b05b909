package picture

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/tokenizer"
)

// Files stores pictures as codes of one tokenizer.
type Files struct {
	Tokenizer   *tokenizer.Tokenizer
	Fingerprint [32]byte     // of its bundle
	Entropy     *codes.Model // from TrainEntropy; files are larger without it

	// Predictor, if there is one, is used in place of Entropy. It knows all levels.
	Predictor codes.Predictor
}

// Write stores a picture, whole or not at all. Reading it needs the same model of codes or predictor.
func (f Files) Write(ctx context.Context, path string, g Grid) (codes.Bits, error) {
	var bits codes.Bits
	err := atomicfile.Write(path, func(w io.Writer) (err error) {
		if bits, err = f.Encode(ctx, w, g); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		return nil
	})
	return bits, err
}

// Encode writes the file of a picture.
func (f Files) Encode(ctx context.Context, w io.Writer, g Grid) (codes.Bits, error) {
	vocab, err := f.vocab(g.Positions())
	if err != nil {
		return codes.Bits{}, err
	}
	p := codes.Picture{
		Width: g.Width, Height: g.Height, Factor: f.Tokenizer.Spec.Model.Image.Down(),
		Vocab: vocab, Codes: g.Codes, Fingerprint: f.Fingerprint,
	}
	layout := f.Tokenizer.Quantizer.Layout()
	switch whole := g.Positions() == layout.Positions(); {
	case f.Predictor != nil && !whole:
		return codes.Bits{}, fmt.Errorf("the prior knows %d codes a cell, not %d; encode all levels", layout.Positions(), g.Positions())
	case f.Predictor != nil:
		return codes.EncodePredicted(ctx, w, p, f.Predictor)
	case layout.Parts > 1 && !whole:
		return codes.Encode(w, p, nil) // leading levels of several parts are not the model's leading positions
	}
	return codes.Encode(w, p, f.Entropy)
}

// Read returns the picture of a file. It fails on damage and on files of other tokenizers.
func (f Files) Read(ctx context.Context, path string) (Grid, error) {
	file, err := os.Open(path)
	if err != nil {
		return Grid{}, fmt.Errorf("cannot read the picture: %w", err)
	}
	defer file.Close()
	var p codes.Picture
	if f.Predictor != nil {
		p, err = codes.DecodePredicted(ctx, file, f.Fingerprint, f.Predictor)
	} else {
		p, err = codes.Decode(file, f.Fingerprint, f.Entropy)
	}
	if err != nil {
		return Grid{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	vocab, err := f.vocab(len(p.Vocab))
	if cell := f.Tokenizer.Spec.Model.Image.Down(); err != nil || !slices.Equal(vocab, p.Vocab) || p.Factor != cell {
		return Grid{}, fmt.Errorf("cannot read %s: its cells of %d pixels with %v codes are not this tokenizer's; use the one that encoded it",
			path, p.Factor, p.Vocab)
	}
	return Grid{Width: p.Width, Height: p.Height, GridWidth: p.GridWidth(), GridHeight: p.GridHeight(), Codes: p.Codes}, nil
}

// vocab returns the number of codes of every position of a grid; later levels may be missing.
func (f Files) vocab(positions int) ([]uint32, error) {
	layout := f.Tokenizer.Quantizer.Layout()
	if positions < 1 || positions%layout.Parts != 0 || positions > layout.Positions() {
		return nil, fmt.Errorf("%d codes a cell do not fit this tokenizer of %d parts x %d levels", positions, layout.Parts, layout.Levels)
	}
	var vocab []uint32
	for _, k := range layout.VocabOf(positions / layout.Parts) {
		vocab = append(vocab, uint32(k))
	}
	return vocab, nil
}

// TrainEntropy learns which codes are neighbours, usually from the training pictures. Damaged ones are left out.
func TrainEntropy(ctx context.Context, r *tokenizer.Runtime, set dataset.Set, rows dataset.Selection) (*codes.Model, error) {
	t := r.Tokenizer()
	if err := t.Expect(dataset.Pictures); err != nil {
		return nil, err
	}
	vocab, err := Files{Tokenizer: t}.vocab(r.Positions(tokenizer.Options{}))
	if err != nil {
		return nil, err
	}
	side, cells := t.Spec.Model.Image.Grid(), t.Tokens()*len(vocab)
	var grids []codes.CodeMap
	err = r.EncodeRows(ctx, set, rows, tokenizer.Options{}, func(c tokenizer.Coded) error {
		for i := range c.Items.N {
			grids = append(grids, codes.CodeMap{Height: side, Width: side, Codes: c.Codes[i*cells : (i+1)*cells]})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(grids) == 0 {
		return nil, fmt.Errorf("%s has no picture to learn from", set.Path())
	}
	var vectors [][]float32
	for _, book := range r.Codebooks() {
		vectors = append(vectors, book.Data)
	}
	return codes.Train(ctx, grids, vocab, vectors)
}

// codedBits is the size without headers of the codes [n, Tokens, positions] of pictures of the trained size.
func (f Files) codedBits(ctx context.Context, codes []uint32, n int) (int, error) {
	c := f.Tokenizer.Spec.Model.Image
	g := Grid{Width: c.Size, Height: c.Size, GridWidth: c.Grid(), GridHeight: c.Grid()}
	total := 0
	for i := range n {
		g.Codes = codes[i*len(codes)/n : (i+1)*len(codes)/n]
		bits, err := f.Encode(ctx, io.Discard, g)
		if err != nil {
			return 0, err
		}
		total += bits.Payload
	}
	return total, nil
}

// Output writes pictures as PNG: to a tar, one file, or a folder.
type Output struct {
	path  string
	one   bool // path is the only picture
	tar   *tar.Writer
	file  *atomicfile.File // behind tar
	claim *output.Claim    // of a folder; nil once it is released
	size  int64            // of the pictures so far
}

// Create opens the output for n pictures by its extension.
func Create(path string, n int) (*Output, error) {
	o := &Output{path: path}
	switch dataset.Extension(path) {
	case ".tar":
		file, err := atomicfile.Create(path)
		if err != nil {
			return nil, err
		}
		o.file, o.tar = file, tar.NewWriter(file)
		return o, nil
	case ".png":
		if n != 1 {
			return nil, usage.Errorf("%s is one picture and there are %d; name a folder or a .tar", path, n)
		}
		o.one = true
		return o, nil
	case ".npy", ".fvecs", ".parquet", ".jpg", ".jpeg", ".webp", ".zip":
		return nil, usage.Errorf("%s: pictures are decoded to a folder, a .tar or one .png", path)
	}
	var err error
	o.claim, err = output.Lock(path)
	return o, err
}

// Add writes a picture; a name is a path without an extension.
func (o *Output) Add(name string, p *images.RGB) error {
	var content bytes.Buffer
	if err := png.Encode(&content, p); err != nil {
		return err
	}
	o.size += int64(content.Len())
	if o.tar != nil {
		if err := o.tar.WriteHeader(&tar.Header{Name: name + ".png", Mode: 0o644, Size: int64(content.Len())}); err != nil {
			return err
		}
		_, err := o.tar.Write(content.Bytes())
		return err
	}
	file := o.path
	if !o.one {
		file = filepath.Join(o.path, filepath.FromSlash(name)+".png")
		if err := output.MakeDir(filepath.Dir(file)); err != nil {
			return err
		}
	}
	return atomicfile.Write(file, func(w io.Writer) error {
		_, err := w.Write(content.Bytes())
		return err
	})
}

// Commit puts a tar in place; files are in place already.
func (o *Output) Commit() error {
	if o.tar == nil {
		o.Abort()
		return nil
	}
	if err := o.tar.Close(); err != nil {
		return err
	}
	return o.file.Commit()
}

// Bytes is the size of the pictures so far.
func (o *Output) Bytes() int64 { return o.size }

// Abort discards a tar and leaves a folder as it is; it does nothing after Commit.
func (o *Output) Abort() {
	if o.file != nil {
		o.file.Abort()
	}
	if o.claim != nil {
		o.claim.Release()
		o.claim = nil
	}
}
