package vq

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// Bounds on Lloyd's algorithm when codes are placed; training moves them later. A
// large codebook starts from a tree of clusters that has converged within its
// groups, and an iteration over all codes is expensive.
const (
	startIterations      = 20
	largeStartIterations = 3
	largeStart           = 4096 // codes beyond which a start is large
)

// startCodes places the first codes [K,d] on a sample of latents and returns the
// number of latents of each code (nil when unknown).
func (c Config) startCodes(sample Latents, rng *rand.Rand) (*weights.Array, []int, error) {
	if c.Start.From == "random" {
		return weights.Uniform(rng, 1/float64(c.Codes), c.Codes, sample.Dim), nil, nil
	}
	if sample.N < 1 {
		return nil, nil, fmt.Errorf("no latents to start from")
	}
	codes := weights.New(c.Codes, sample.Dim)
	var counts []int
	if c.Start.From == "kmeans" {
		o := index.KMeansOptions{Seed: rng.Uint64(), Iterations: startIterations}
		if c.Codes > largeStart {
			o.Init, o.Iterations = index.InitTree, largeStartIterations
		}
		centers, n, err := index.KMeans(context.Background(), sample.Rows, sample.N, sample.Dim, c.Codes, o)
		if err != nil {
			return nil, nil, err
		}
		copy(codes.Data, centers)
		counts = n
	} else {
		order := rng.Perm(sample.N)
		for i := range c.Codes {
			copy(codes.Row(i), sample.Row(order[i%sample.N]))
		}
	}
	noise := c.Start.Noise
	if c.Start.From == "data" && c.Codes > sample.N {
		noise = max(noise, 1e-2) // repeated latents must not stay equal codes
	}
	if noise > 0 {
		std := noise * sample.spread()
		for i := range codes.Data {
			codes.Data[i] += float32(rng.NormFloat64() * std)
		}
	}
	return codes, counts, nil
}
