package vq

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// Every level clusters the residuals of the levels before, part by part: k-means
// by hand on brute-force residuals gives the same codes.
func TestKMeansLevelsAndPartsCodeWhatIsLeft(t *testing.T) {
	const n, dim, levels, parts = 400, 6, 3, 2
	for _, method := range []string{"kmeans", "pq"} {
		c := classical(t, method, levels, parts)
		sample := gaussianSample(6, n, dim)
		got := fitted(t, c, sample, FitOptions{Seed: 3, Iterations: 9}).Variables
		rng := weights.Rand(3, "classical codes")
		for part := range parts {
			d := dim / parts
			rest := make([]float32, n*d)
			for i := range rest {
				rest[i] = sample.Rows[i/d*dim+part*d+i%d]
			}
			for l := range levels {
				want, _, err := index.KMeans(context.Background(), rest, n, d, c.Codes, index.KMeansOptions{Seed: rng.Uint64(), Iterations: 9})
				if err != nil {
					t.Fatal(err)
				}
				path := fmt.Sprintf("part%d/level%d/codes", part, l)
				if !slices.Equal(got[path].Data, want) {
					t.Fatalf("%s: %s is not the clustering of what is left", method, path)
				}
				codes := matrix{widen(got[path]).Data, d}
				for i := range n {
					x := make([]float64, d)
					for j := range x {
						x[j] = float64(rest[i*d+j])
					}
					code := nearest(x, codes)
					for j := range x {
						rest[i*d+j] -= want[code*d+j]
					}
				}
			}
		}
	}
}

// Eight tight groups are found, and their error is that of the noise.
func TestKMeansFindsGroups(t *testing.T) {
	const n, dim, noise = 1600, 5, 0.01
	rng := newRand(3)
	centres := weights.Normal(rng, 3, 8, dim)
	sample := Latents{Rows: make([]float32, n*dim), N: n, Dim: dim}
	for i := range sample.Rows {
		sample.Rows[i] = centres.Row(i / dim % 8)[i%dim] + float32(noise*rng.NormFloat64())
	}
	c := classical(t, "kmeans", 1, 1)
	if got := reconstructionError(t, c, fitted(t, c, sample, FitOptions{}), sample); got > 1.02*noise*noise {
		t.Errorf("error %g, the noise is %g", got, noise*noise)
	}
}

// beamError is the mean squared error of a sample encoded with a beam.
func beamError(t *testing.T, c Config, f Fitted, sample Latents, beam int) float64 {
	t.Helper()
	var levels []*index.Codes
	for l := range c.Levels {
		book := f.Variables[levelPath(l)+"/codes"]
		codes, err := index.NewCodes(book.Data, book.Shape[0], book.Shape[1])
		if err != nil {
			t.Fatal(err)
		}
		levels = append(levels, codes)
	}
	stack, err := index.NewResidual(levels...)
	if err != nil {
		t.Fatal(err)
	}
	codes, decoded := make([]uint32, sample.N*c.Levels), make([]float32, len(sample.Rows))
	stack.Encode(sample.Rows, sample.N, 0, beam, codes, 0)
	if err := stack.Decode(codes, sample.N, 0, decoded); err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for i, x := range decoded {
		gap := float64(x) - float64(sample.Rows[i])
		total += gap * gap
	}
	return total / float64(len(decoded))
}

// With beam search, codebooks fitted to residuals of a beam are better than
// codebooks fitted to greedy residuals, and both beat greedy encoding.
func TestRQFitsForItsBeam(t *testing.T) {
	c := classical(t, "rq", 4, 1)
	c.Codes = 16
	if c.Beam != 16 {
		t.Errorf("the beam of rq is %d, want 16", c.Beam)
	}
	greedy := classical(t, "kmeans", 4, 1)
	greedy.Codes = 16
	if greedy.Beam != 1 {
		t.Errorf("the beam of kmeans is %d, want 1", greedy.Beam)
	}
	var withBeam, without, encodedGreedily float64
	for seed := range uint64(4) {
		sample := gaussianSample(20+seed, 2000, 8)
		f := fitted(t, c, sample, FitOptions{Seed: seed})
		withBeam += beamError(t, c, f, sample, 16)
		encodedGreedily += beamError(t, c, f, sample, 1)
		without += beamError(t, c, fitted(t, greedy, sample, FitOptions{Seed: seed}), sample, 16)
	}
	t.Logf("fitted and encoded with a beam %.4f, fitted greedily %.4f, encoded greedily %.4f", withBeam, without, encodedGreedily)
	if !(withBeam < without && withBeam < encodedGreedily) {
		t.Errorf("error %g with the beam, %g fitted greedily, %g encoded greedily", withBeam, without, encodedGreedily)
	}
}
