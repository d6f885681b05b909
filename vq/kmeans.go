package vq

import (
	"math/rand/v2"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// KMeans is plain k-means: the codes are cluster centres of the vectors
// and, in later levels, of the residuals.
var KMeans = Method{
	Name: "kmeans", Title: "k-means",
	Summary:   "cluster centres of the vectors, fitted without training steps",
	Defaults:  classicalDefaults,
	Check:     checkClassical,
	Classical: fitStack(1),
}

// fitStack clusters level by level. Each level sees the residuals of the
// encodings so far: of the greedy one, or of all that survive in a beam, since the
// codes of later levels decide which of them is best.
func fitStack(beam int) ClassicalFitter {
	return func(f *Fitting, c Config, sample Latents, rng *rand.Rand) (weights.Set, error) {
		set, rest := weights.Set{}, sample
		books := make([]*index.Codes, 0, c.Levels)
		for l := range c.Levels {
			var start []float32
			if l == 0 && len(f.first) > 0 {
				start = f.first[0]
			}
			if l > 0 {
				stack, err := index.NewResidual(books...)
				if err != nil {
					return nil, err
				}
				rest = sample.leftOver(stack, beam, c.Codes)
			}
			centers, err := f.kmeans(rest, c.Codes, start, rng.Uint64())
			if err != nil {
				return nil, err
			}
			set[levelPath(l)+"/"+CodesPath] = &weights.Array{Shape: []int{c.Codes, sample.Dim}, Data: centers}
			book, err := index.NewCodes(centers, c.Codes, sample.Dim)
			if err != nil {
				return nil, err
			}
			books = append(books, book)
		}
		return set, nil
	}
}

const (
	leftOverBlock = 4096 // rows encoded at a time
	// survivorsPerCode bounds the rows that a beam adds to a sample.
	survivorsPerCode = 1024
)

// leftOver returns the residuals of every row's survivors in a beam over the
// stack's levels, subtracted level by level, as encoders do. Of a sample that is
// large for so many codes only the first rows are used.
func (s Latents) leftOver(stack *index.Residual, beam, codes int) Latents {
	levels, d := stack.Levels(), s.Dim
	n := min(s.N, max(s.N, survivorsPerCode*codes)/beam)
	rest := Latents{Rows: make([]float32, n*beam*d), N: n * beam, Dim: d}
	paths := make([]uint32, min(n, leftOverBlock)*beam*levels)
	for from := 0; from < n; from += leftOverBlock {
		count := min(leftOverBlock, n-from)
		stack.Survivors(s.Rows[from*d:], count, beam, paths, 0)
		for i := range count * beam {
			row := rest.Rows[(from*beam+i)*d : (from*beam+i+1)*d]
			copy(row, s.Rows[(from+i/beam)*d:])
			for l, code := range paths[i*levels : (i+1)*levels] {
				for j, v := range stack.Level(l).Row(int(code)) {
					row[j] -= v
				}
			}
		}
	}
	return rest
}
