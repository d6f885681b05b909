package picture

import (
	"context"
	"fmt"
	"io"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/tokenizer"
)

// TrainEntropy learns which codes are neighbours from pictures, usually those
// that the tokenizer was trained on. Damaged pictures are left out.
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

// codedBits is the size in files, without headers, of the codes [n, Tokens,
// positions] of pictures of the trained size.
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
