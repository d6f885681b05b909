package vq

import (
	"math/rand/v2"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// KMeans is plain k-means: codes are cluster centres of the vectors and, in later
// levels, of the residuals.
var KMeans = Method{
	Name: "kmeans", Title: "k-means",
	Summary:   "cluster centres of the vectors, fitted without training steps",
	Defaults:  classicalDefaults,
	Check:     checkClassical,
	Classical: fitStack(1),
}

// fitStack clusters level by level. Each level sees the residuals of all encodings
// that survive in the beam.
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
// stack's levels, subtracted level by level, as encoders do.
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

// PQ is product quantization (Jégou, Douze and Schmid 2011): each part of the
// vector is coded by cluster centres of its own.
var PQ = Method{
	Name: "pq", Title: "PQ",
	Summary:   "product quantization: cluster centres of slices of the vector",
	Defaults:  productDefaults,
	Check:     checkClassical,
	Classical: fitStack(1),
	Product:   true,
}

func productDefaults(c *Config, r *Rates) {
	classicalDefaults(c, r)
	c.Parts, c.Levels = c.Levels, 1
}

// RQ is classical residual quantization (Chen, Guan and Wang 2010) with beam search:
// every level's codes are cluster centres of the residuals of the encodings that
// survive in a beam. A few sweeps then move the codes of all levels to the centroids
// of the beam's best encodings. Vectors are encoded with the same beam.
var RQ = Method{
	Name: "rq", Title: "RQ",
	Summary:   "residual k-means with beam search",
	Defaults:  func(c *Config, r *Rates) { classicalDefaults(c, r); c.Beam = rqBeam },
	Check:     checkClassical,
	Classical: fitRQ,
}

const (
	rqBeam   = 5 // partial encodings kept from level to level, as in FAISS
	rqSweeps = 4 // refinements; later ones gain less than 1 % on the sample
)

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
