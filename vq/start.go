package vq

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// Bounds on Lloyd's algorithm when codes are placed; later training moves them
// anyway. A large codebook starts from a tree of clusters that has converged
// within its groups, and an iteration over all codes is dear.
const (
	startIterations      = 20
	largeStartIterations = 3
	largeStart           = 4096 // codes beyond which a start is large
)

// startCodes places the first codes [K,d] on a sample of latents and says how
// many latents each drew (nil when that is not known).
func (c Config) startCodes(sample Sample, rng *rand.Rand) (*weights.Array, []int, error) {
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
			row := order[i%sample.N]
			copy(codes.Row(i), sample.Rows[row*sample.Dim:(row+1)*sample.Dim])
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

// spread is the standard deviation over all elements of the sample.
func (s Sample) spread() float64 {
	var sum, square float64
	for _, x := range s.Rows {
		sum += float64(x)
		square += float64(x) * float64(x)
	}
	n := float64(max(1, len(s.Rows)))
	return math.Sqrt(max(0, square/n-(sum/n)*(sum/n)))
}

// subtractNearest leaves in each row what its nearest code does not cover.
func (s Sample) subtractNearest(codes *weights.Array) error {
	search, err := index.NewCodes(codes.Data, codes.Shape[0], s.Dim)
	if err != nil {
		return err
	}
	chosen := make([]uint32, s.N)
	search.Nearest(s.Rows, s.N, chosen, nil, 0)
	for i, code := range chosen {
		row := s.Rows[i*s.Dim : (i+1)*s.Dim]
		for j, x := range codes.Row(int(code)) {
			row[j] -= x
		}
	}
	return nil
}

// normalise scales every row to unit length.
func (s Sample) normalise() {
	for i := range s.N {
		row := s.Rows[i*s.Dim : (i+1)*s.Dim]
		if length := norm(row); length > 0 {
			for j := range row {
				row[j] = float32(float64(row[j]) / length)
			}
		}
	}
}
