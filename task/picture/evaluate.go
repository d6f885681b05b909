package picture

import (
	"context"
	"fmt"
	"math"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/tokenizer"
)

// Options refine Evaluate.
type Options struct {
	tokenizer.Options
	Backend  compute.Backend       // for the networks; may be nil without any
	Entropy  *codes.Model          // of the codes, from TrainEntropy; may be nil
	Progress func(done, total int) // may be nil
}

// Evaluate encodes and decodes the centres of pictures and takes all scores in
// one pass; networks that are nil are skipped. The usage by code is returned for
// histograms. Damaged pictures are left out and counted.
func Evaluate(
	ctx context.Context, r *tokenizer.Runtime, set dataset.Set, rows dataset.Selection, networks Networks, o Options,
) (Scores, *eval.Usage, error) {
	nan := math.NaN()
	s := Scores{LPIPS: nan, Frechet: nan, KID: nan, KIDStd: nan, CodedBitsPerPixel: nan}
	if err := r.Tokenizer().Expect(dataset.Pictures); err != nil {
		return s, nil, err
	}
	if rows.Len() == 0 {
		return s, nil, fmt.Errorf("there are no pictures to score in %s", set.Path())
	}
	seen, err := newPerception(o.Backend, networks, r.Tokenizer().Spec.Model.Image.Size, rows.Len())
	if err != nil {
		return s, nil, err
	}
	defer seen.close()
	files := Files{Tokenizer: r.Tokenizer(), Entropy: o.Entropy}
	bits := 0
	result, usage, err := r.Evaluate(ctx, set, rows, o.Options, func(c tokenizer.Coded) error {
		if err := seen.add(ctx, c); err != nil {
			return err
		}
		if o.Entropy != nil {
			coded, err := files.codedBits(c.Codes, c.Items.N)
			if err != nil {
				return err
			}
			bits += coded
		}
		if o.Progress != nil {
			o.Progress(c.Done, rows.Len())
		}
		return nil
	})
	if err != nil {
		return s, nil, err
	}
	s.PictureScores = *result.(*tokenizer.PictureScores)
	if s.Images == 0 {
		return s, nil, fmt.Errorf("none of the %d pictures of %s could be read", s.Damaged, set.Path())
	}
	if size := r.Tokenizer().Spec.Model.Image.Size; o.Entropy != nil {
		s.CodedBitsPerPixel = float64(bits) / float64(s.Images*size*size)
	}
	if err := seen.score(ctx, &s); err != nil {
		return s, nil, err
	}
	return s, usage, nil
}
