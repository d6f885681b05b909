package tokenizer

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/eval"
)

// PictureScores say how close reconstructed pictures are and how codes are used.
type PictureScores struct {
	PSNR          float64 `json:"psnr"` // mean over pictures, in dB
	SSIM          float64 `json:"ssim"`
	MSE           float64 `json:"mse"` // of pixel values from 0 to 1
	Utilization   Levels  `json:"utilization"`
	DeadRate      float64 `json:"dead_rate"`
	Perplexity    Levels  `json:"perplexity"`
	TokensPerCode float64 `json:"tokens_per_code"`
	BitsPerPixel  float64 `json:"bits_per_pixel"` // of plain codes
	Images        int     `json:"images"`
	Damaged       int     `json:"damaged"` // pictures that could not be read
}

// Pair is a batch of pictures [N*size*size*3] and their reconstructions, with
// the codes [N*Tokens*Positions] between them.
type Pair struct {
	Rows                     []int // of the set
	Original, Reconstruction []uint8
	Codes                    []uint32
}

// EvaluatePictures encodes and decodes the centres of pictures. visit, if not
// nil, sees every batch, whose slices it must not keep. Damaged pictures are
// left out and counted.
func (r *Runtime) EvaluatePictures(ctx context.Context, set *images.Set, rows dataset.Selection, o Options, visit func(Pair) error) (PictureScores, *eval.Usage, error) {
	layout := r.tokenizer.Quantizer.Layout()
	vocab := layout.VocabOf(o.Levels)
	usage, err := eval.NewUsage(vocab)
	if err != nil {
		return PictureScores{}, nil, err
	}
	var closeness eval.ImageScores[uint8]
	var s PictureScores
	size, input, block := r.tokenizer.Spec.Model.Image.Size, r.tokenizer.Input, r.tokenizer.block()
	shape := eval.ImageShape{Height: size, Width: size, Channels: 3}
	squares := 0.0
	for start := 0; start < rows.Len(); start += block {
		chosen := make([]int, 0, block)
		for i := start; i < min(rows.Len(), start+block); i++ {
			chosen = append(chosen, rows.At(i))
		}
		p, damaged, err := ReadCentres(set, chosen, input)
		if err != nil {
			return s, nil, err
		}
		s.Damaged += damaged
		if n := len(p.Rows); n > 0 {
			if p.Codes, err = r.EncodePictures(ctx, p.Original, n, o); err != nil {
				return s, nil, err
			}
			if p.Reconstruction, err = r.DecodePictures(ctx, p.Codes, n, len(vocab)); err != nil {
				return s, nil, err
			}
			if err := closeness.Add(p.Original, p.Reconstruction, shape); err != nil {
				return s, nil, err
			}
			if err := usage.Add(p.Codes, len(vocab)); err != nil {
				return s, nil, err
			}
			for i, x := range p.Original {
				d := float64(x) - float64(p.Reconstruction[i])
				squares += d * d
			}
			s.Images += n
		}
		if visit != nil {
			if err := visit(p); err != nil {
				return s, nil, err
			}
		}
	}
	s.PSNR, s.SSIM, s.MSE = closeness.PSNR(), closeness.SSIM(), squares/(255*255*float64(s.Images)*float64(input))
	s.DeadRate, s.TokensPerCode = usage.Mean().DeadRate, usage.Mean().TokensPerCode
	s.Utilization.Mean, s.Perplexity.Mean = usage.Mean().Utilization, usage.Mean().Perplexity
	cell := float64(r.tokenizer.Spec.Model.Image.Down())
	for position, k := range vocab {
		s.Utilization.Levels = append(s.Utilization.Levels, usage.Level(position).Utilization)
		s.Perplexity.Levels = append(s.Perplexity.Levels, usage.Level(position).Perplexity)
		s.BitsPerPixel += math.Log2(float64(k)) / (cell * cell)
	}
	return s, usage, nil
}

// ReadCentres reads the middle of pictures without the damaged ones, and counts those.
func ReadCentres(set *images.Set, rows []int, input int) (Pair, int, error) {
	pixels := make([]uint8, len(rows)*input)
	damaged, err := set.Centre(rows, pixels)
	if err != nil {
		if _, all := errors.AsType[*images.Damage](err); all {
			return Pair{}, len(rows), nil
		}
		return Pair{}, 0, err
	}
	p := Pair{Original: pixels[:0]}
	for i, row := range rows {
		if !slices.Contains(damaged, i) {
			p.Rows = append(p.Rows, row)
			p.Original = append(p.Original, pixels[i*input:(i+1)*input]...)
		}
	}
	return p, len(rows) - len(p.Rows), nil
}
