package vq

import (
	"math/rand/v2"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// RQ is classical residual quantization (Chen, Guan and Wang 2010) with
// beam search: every level's codes are cluster centres of the residuals of the
// encodings that survive in a beam. A few sweeps then move the codes of all levels
// to the centroids of the beam's best encodings. Vectors are encoded with the same
// beam.
var RQ = Method{
	Name: "rq", Title: "RQ",
	Summary:   "residual k-means with beam search",
	Defaults:  classicalDefaults,
	Check:     checkClassical,
	Classical: fitRQ,
	Beam:      rqBeam,
}

const (
	rqBeam   = 5 // partial encodings kept from level to level, as in FAISS
	rqSweeps = 4 // refinements; later ones gain less than 1 % on the sample
)

// fitRQ clusters level by level and refines the levels together.
func fitRQ(f *Fitting, c Config, sample Latents, rng *rand.Rand) (weights.Set, error) {
	set, err := fitStack(rqBeam)(f, c, sample, rng)
	if err != nil || c.Levels == 1 {
		return set, err
	}
	for range rqSweeps {
		if err := f.ctx.Err(); err != nil {
			return nil, err
		}
		if err := f.refine(c, set, sample); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// refine encodes the sample and moves the codes of one level after the other to
// the means of the residuals of all other levels, which cannot raise the error of
// that encoding.
func (f *Fitting) refine(c Config, set weights.Set, sample Latents) error {
	books := make([]*index.Codes, c.Levels)
	for l := range books {
		var err error
		if books[l], err = index.NewCodes(set[levelPath(l)+"/"+CodesPath].Data, c.Codes, sample.Dim); err != nil {
			return err
		}
	}
	stack, err := index.NewResidual(books...)
	if err != nil {
		return err
	}
	d, codes := sample.Dim, make([]uint32, sample.N*c.Levels)
	stack.Encode(sample.Rows, sample.N, 0, rqBeam, codes, 0)
	rest := make([]float32, len(sample.Rows))
	if err := stack.Decode(codes, sample.N, 0, rest); err != nil {
		return err
	}
	for i, x := range sample.Rows {
		rest[i] = x - rest[i]
	}
	moves, counts := make([]float64, c.Codes*d), make([]float64, c.Codes)
	for l := range c.Levels {
		clear(moves)
		clear(counts)
		for i := range sample.N {
			code := int(codes[i*c.Levels+l])
			counts[code]++
			for j, x := range rest[i*d : (i+1)*d] {
				moves[code*d+j] += float64(x)
			}
		}
		book := set[levelPath(l)+"/"+CodesPath].Data
		for i := range book {
			if n := counts[i/d]; n > 0 {
				moves[i] /= n
				book[i] += float32(moves[i])
			}
		}
		left := 0.0
		for i := range rest {
			code := int(codes[i/d*c.Levels+l])
			rest[i] -= float32(moves[code*d+i%d])
			left += float64(rest[i]) * float64(rest[i])
		}
		f.inside = left
	}
	f.report(f.inside)
	return nil
}
