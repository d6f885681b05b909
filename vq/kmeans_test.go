package vq

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// Every level clusters what the nearest codes of the levels before leave, part
// by part: k-means by hand on brute-force residuals gives the same codes.
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
