package vq

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// Bounds on Lloyd's algorithm when codes are placed; training moves them later. A
// large codebook starts from a tree of clusters, and its iterations are expensive.
const (
	startIterations      = 20
	largeStartIterations = 3
	largeStart           = 4096 // codes beyond which a start is large
)

// startCodes places the first codes [K,d] and counts their latents (nil: unknown).
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

type imported struct {
	*Residual
	codes []*weights.Array
}

// importable is a [Level] whose variables can be made for given codes.
type importable interface {
	init(codes *weights.Array, counts []int, gain float64, rng *rand.Rand) (weights.Set, error)
}

// StartFrom returns q with given first codes [K,d] for every level instead of codes
// placed on latents. It fails for a product of parts and on codes that do not fit.
func StartFrom(q Quantizer, codes []*weights.Array) (Quantizer, error) {
	r, ok := q.(*Residual)
	if !ok {
		return nil, fmt.Errorf("a codebook can be imported for one part only, the quantizer has %d", q.Layout().Parts)
	}
	if _, ok := r.levels[0].(importable); !ok || r.method.Classical != nil {
		return nil, fmt.Errorf("method %s has no codebook to import into", r.config.Method)
	}
	if books := len(r.layout.Books()); len(codes) != books {
		return nil, fmt.Errorf("%d codebooks were given, the quantizer has %d", len(codes), books)
	}
	for l, c := range codes {
		if want := []int{r.config.Codes, r.layout.Dim}; !slices.Equal(c.Shape, want) {
			return nil, fmt.Errorf("the codebook of level %d has shape %v, the quantizer needs %v", l, c.Shape, want)
		}
	}
	return imported{r, codes}, nil
}

func (q imported) Init(sample Latents, rng *rand.Rand) (weights.Set, error) {
	set, err := q.Residual.Init(sample, rng)
	if err != nil {
		return nil, err
	}
	for l, codes := range q.codes {
		level, path := q.at(l)
		vars, err := level.(importable).init(codes.Clone(), nil, max(rowsOf(codes).meanNorm(), 1e-3), rng)
		if err != nil {
			return nil, fmt.Errorf("importing level %d: %w", l, err)
		}
		set.Merge(path, vars)
	}
	return set, nil
}
