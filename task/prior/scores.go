package prior

import (
	"context"
	"math"

	"github.com/gritvq/gritvq/internal/finitejson"
	"github.com/gritvq/gritvq/task/prior/gpt"
)

// Scores say how well codes are predicted.
type Scores struct {
	NLL          float64   `json:"nll"` // negative log-likelihood in nats a token
	BitsPerToken float64   `json:"bits_per_token"`
	Perplexity   float64   `json:"perplexity"`     // e to the NLL: as hard to predict as one of so many equal codes
	BitsPerImage float64   `json:"bits_per_image"` // or a row
	BitsPerPixel float64   `json:"bits_per_pixel"` // NaN for rows that are no pictures
	NLLByLevel   []float64 `json:"nll_by_level"`
	Tokens       int       `json:"tokens"`
	Pictures     int       `json:"pictures"` // or rows
	// Reference has the bits of classical models of the training codes on the same rows.
	Reference ReferenceBits `json:"reference"`
}

// ReferenceBits are bits a token.
type ReferenceBits struct {
	Unigram   float64 `json:"unigram_bits_per_token"`   // the frequency of every code
	Neighbour float64 `json:"neighbour_bits_per_token"` // mixed with those given its neighbours, as in picture files
}

// MarshalJSON writes numbers that are not finite as null.
func (s Scores) MarshalJSON() ([]byte, error) {
	type plain Scores
	return finitejson.Marshal(plain(s))
}

// UnmarshalJSON reads null as NaN.
func (s *Scores) UnmarshalJSON(text []byte) error {
	type plain Scores
	return finitejson.Unmarshal(text, (*plain)(s))
}

// measure scores rows, whose pictures have the given number of pixels, without the
// reference.
func measure(ctx context.Context, scorer *gpt.Scorer, l gpt.Layout, rows Rows, pixels int, progress func(rows int)) (*Scores, error) {
	losses, err := scorer.Score(ctx, rows.Starts, rows.Codes, progress)
	if err != nil {
		return nil, err
	}
	byLevel := make([]float64, l.Levels())
	sum := 0.0
	for i, loss := range losses {
		byLevel[i%l.Levels()] += float64(loss)
		sum += float64(loss)
	}
	for level := range byLevel {
		byLevel[level] *= float64(l.Levels()) / float64(len(losses))
	}
	s := &Scores{NLL: sum / float64(len(losses)), NLLByLevel: byLevel, Tokens: len(losses), Pictures: rows.Len(), BitsPerPixel: math.NaN()}
	s.BitsPerToken, s.Perplexity = s.NLL/math.Ln2, math.Exp(s.NLL)
	s.BitsPerImage = s.BitsPerToken * float64(l.Tokens())
	if pixels > 0 {
		s.BitsPerPixel = s.BitsPerImage / float64(pixels)
	}
	return s, nil
}
