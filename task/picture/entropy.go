package picture

import (
	"context"
	"fmt"
	"io"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/tokenizer"
)

// TrainEntropy learns which codes stand beside which from pictures, usually
// those that the tokenizer was trained on; progress (may be nil) is told how
// many are encoded. Damaged pictures are left out. Codec's Tensors and NewModel
// take the model to a bundle and back.
func TrainEntropy(ctx context.Context, r *tokenizer.Runtime, set *images.Set, rows dataset.Selection, progress func(done, total int)) (*codes.Model, error) {
	t := r.Tokenizer()
	if !t.Spec.Model.Pictures() {
		return nil, fmt.Errorf("this is a tokenizer of vectors, not of pictures")
	}
	vocab, err := Files{Tokenizer: t}.vocab(r.Positions(tokenizer.Options{}))
	if err != nil {
		return nil, err
	}
	side, cells := t.Spec.Model.Image.Grid(), t.Tokens()*len(vocab)
	var grids []codes.Grid
	batch := max(1, windowPixels/(t.Spec.Model.Image.Size*t.Spec.Model.Image.Size))
	for start := 0; start < rows.Len(); start += batch {
		end := min(start+batch, rows.Len())
		var chosen []int
		for i := start; i < end; i++ {
			chosen = append(chosen, rows.At(i))
		}
		p, _, err := tokenizer.ReadCentres(set, chosen, t.Input)
		if err != nil {
			return nil, err
		}
		assigned, err := r.EncodePictures(ctx, p.Original, len(p.Rows), tokenizer.Options{})
		if err != nil {
			return nil, err
		}
		for i := range p.Rows {
			grids = append(grids, codes.Grid{Height: side, Width: side, Codes: assigned[i*cells : (i+1)*cells]})
		}
		if progress != nil {
			progress(end, rows.Len())
		}
	}
	if len(grids) == 0 {
		return nil, fmt.Errorf("%s has no picture to learn the codes of", set.Path())
	}
	var vectors [][]float32
	for _, book := range r.Codebooks() {
		vectors = append(vectors, book.Data)
	}
	return codes.Train(ctx, grids, vocab, vectors)
}

// codedBits returns the bits that the codes [n, Tokens, positions] of pictures
// of the trained size take in files, without their headers.
func (f Files) codedBits(codes []uint32, n int) (int, error) {
	c := f.Tokenizer.Spec.Model.Image
	g := Grid{Width: c.Size, Height: c.Size, GridWidth: c.Grid(), GridHeight: c.Grid()}
	total := 0
	for i := range n {
		g.Codes = codes[i*len(codes)/n : (i+1)*len(codes)/n]
		bits, err := f.encode(io.Discard, g)
		if err != nil {
			return 0, err
		}
		total += bits.Payload
	}
	return total, nil
}
