package tokenizer

import (
	"context"
	"math"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/eval"
)

// Scores are what a tokenizer achieves on a set of vectors, with hard codes.
// Rates are fractions.
type Scores struct {
	MSE           float64 `json:"mse"`
	RelativeError float64 `json:"relative_error"`
	Cosine        float64 `json:"cosine"`
	Utilization   Levels  `json:"utilization"`
	DeadRate      float64 `json:"dead_rate"`
	Perplexity    Levels  `json:"perplexity"`
	TokensPerCode float64 `json:"tokens_per_code"`
	BitsPerVector float64 `json:"bits_per_vector"`
	Vectors       int     `json:"vectors"`
}

// Levels is a score of every code position and its mean.
type Levels struct {
	Mean   float64   `json:"mean"`
	Levels []float64 `json:"levels"`
}

// evaluationRows is the number of vectors read and scored at a time.
const evaluationRows = 4 * BlockRows

// Evaluate scores the rows of a selection; progress (may be nil) is told how
// many are done. The usage by code is returned for histograms.
func (r *Runtime) Evaluate(ctx context.Context, vectors *vectors.Vectors, rows dataset.Selection, o Options, progress func(done, total int)) (Scores, *eval.Usage, error) {
	layout := r.tokenizer.Quantizer.Layout()
	vocab := layout.VocabOf(o.Levels)
	usage, err := eval.NewUsage(vocab)
	if err != nil {
		return Scores{}, nil, err
	}
	var reconstruction eval.Reconstruction
	dim := r.tokenizer.Input
	chosen := make([]int, 0, evaluationRows)
	buffer := make([]float32, evaluationRows*dim)
	for start := 0; start < rows.Len(); start += evaluationRows {
		chosen = chosen[:0]
		for i := start; i < min(rows.Len(), start+evaluationRows); i++ {
			chosen = append(chosen, rows.At(i))
		}
		x := buffer[:len(chosen)*dim]
		if err := vectors.Gather(chosen, x); err != nil {
			return Scores{}, nil, err
		}
		codes, err := r.Encode(ctx, x, len(chosen), o)
		if err != nil {
			return Scores{}, nil, err
		}
		xhat, err := r.Decode(ctx, codes, len(chosen), len(vocab))
		if err != nil {
			return Scores{}, nil, err
		}
		if err := reconstruction.Add(x, xhat, dim); err != nil {
			return Scores{}, nil, err
		}
		if err := usage.Add(codes, len(vocab)); err != nil {
			return Scores{}, nil, err
		}
		if progress != nil {
			progress(start+len(chosen), rows.Len())
		}
	}
	s := Scores{
		MSE: reconstruction.MSE(), RelativeError: reconstruction.RelativeError(), Cosine: reconstruction.Cosine(),
		DeadRate: usage.Mean().DeadRate, TokensPerCode: usage.Mean().TokensPerCode, Vectors: rows.Len(),
	}
	for position, k := range vocab {
		level := usage.Level(position)
		s.Utilization.Levels = append(s.Utilization.Levels, level.Utilization)
		s.Perplexity.Levels = append(s.Perplexity.Levels, level.Perplexity)
		s.BitsPerVector += math.Log2(float64(k))
	}
	s.Utilization.Mean, s.Perplexity.Mean = usage.Mean().Utilization, usage.Mean().Perplexity
	return s, usage, nil
}
