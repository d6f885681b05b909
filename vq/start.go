package vq

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
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
	if c.Start.From == "kmeans" || c.Start.From == "rq" {
		o := index.KMeansOptions{Seed: rng.Uint64(), Iterations: startIterations}
		if c.Codes > largeStart {
			o.Init, o.Iterations = index.InitTree, largeStartIterations
		}
		centers, n, err := index.KMeans(sample.context(), sample.Rows, sample.N, sample.Dim, c.Codes, o)
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

// Tabled says whether codes are a table with nearest-code search: running averages,
// cosine distances and a classical start need one.
func (m Method) Tabled() bool { return m.Level == nil && m.Classical == nil && m.New == nil }

// StartsClassical says whether codes start as those of a classical
// quantizer, see [FitStart].
func (c Config) StartsClassical() bool {
	return c.Start.From == RQ.Name && methods[c.Method].Tabled() && !(c.Shared && c.Levels > 1) &&
		!c.Normalized()
}

// Reference returns the settings of the classical quantizer of the same size and search: [RQ], or [LSQ] for a local search.
func (c Config) Reference() Config {
	r := RQ.Config()
	if c.Search == Local {
		r = LSQ.Config()
	}
	r.Codes, r.Levels, r.Parts = c.Codes, c.Levels, c.Parts
	r.Start.Shrink = c.Start.Shrink
	return r
}

// FitStart fits the classical quantizer of [Config.Reference] to a sample and returns its codes
// [K,d'] at every code position, for [StartFrom].
func FitStart(ctx context.Context, c Config, sample Latents, o FitOptions) ([]*weights.Array, error) {
	fitted, err := FitClassical(ctx, c.Reference(), sample, o)
	if err != nil {
		return nil, err
	}
	layout := Layout{Parts: c.Parts, Levels: c.Levels}
	codes := make([]*weights.Array, layout.Positions())
	for position := range codes {
		codes[position] = fitted.Variables[path.Join(layout.Path(position), CodesPath)]
	}
	return codes, nil
}

// importable is a [Level] whose variables can be made for given codes.
type importable interface {
	init(codes *weights.Array, counts []int, gain float64, rng *rand.Rand) (weights.Set, error)
}

// StartFrom returns q with given first codes [K,d'] of every codebook instead of
// codes placed on latents. It fails on codes that do not fit.
func StartFrom(q Quantizer, codes []*weights.Array) (Quantizer, error) {
	switch q := q.(type) {
	case *Residual:
		return q.startFrom(codes)
	case *Product:
		started := *q
		started.parts = nil
		for i, part := range q.parts {
			end := (i + 1) * len(codes) / len(q.parts)
			p, err := part.startFrom(codes[i*len(codes)/len(q.parts) : end])
			if err != nil {
				return nil, fmt.Errorf("part %d: %w", i, err)
			}
			started.parts = append(started.parts, p)
		}
		return &started, nil
	}
	return nil, fmt.Errorf("a quantizer of this construction has no codebook to import into")
}

func (q *Residual) startFrom(codes []*weights.Array) (*Residual, error) {
	if _, ok := q.levels[0].(importable); !ok || q.method.Classical != nil {
		return nil, fmt.Errorf("method %s has no codebook to import into", q.config.Method)
	}
	if books := len(q.layout.Books()); len(codes) != books {
		return nil, fmt.Errorf("%d codebooks were given, the quantizer has %d", len(codes), books)
	}
	for l, c := range codes {
		if want := []int{q.config.Codes, q.layout.Dim}; !slices.Equal(c.Shape, want) {
			return nil, fmt.Errorf("the codebook of level %d has shape %v, the quantizer needs %v", l, c.Shape, want)
		}
	}
	started := *q
	started.codes = codes
	return &started, nil
}

// startGiven returns the variables of the levels for given codes. Running averages
// start with the numbers of latents of the sample that the codes draw.
func (q *Residual) startGiven(set weights.Set, books []*weights.Array, sample Latents, rng *rand.Rand) (weights.Set, error) {
	var counts [][]int
	if (q.config.Learn == "ema" || q.config.Average.Pull > 0) && sample.N > 0 {
		search, err := newSearch(q.layout, books, nil)
		if err != nil {
			return nil, err
		}
		chosen := make([]uint32, sample.N*q.config.Levels)
		search.Encode(sample.Rows, sample.N, q.config.Levels, q.config.Beam, chosen, 0)
		for range books {
			counts = append(counts, make([]int, q.config.Codes))
		}
		for i, code := range chosen {
			counts[i%q.config.Levels][code]++
		}
	}
	for l, codes := range books {
		level, path := q.at(l)
		if g, ok := level.(Graded); ok {
			level = g.At(l)
		}
		var n []int
		if counts != nil {
			n = counts[l]
		}
		vars, err := level.(importable).init(codes.Clone(), n, max(rowsOf(codes).meanNorm(), 1e-3), rng)
		if err != nil {
			return nil, fmt.Errorf("starting level %d: %w", l, err)
		}
		set.Merge(path, vars)
	}
	return set, nil
}
