package vq

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

const (
	classicalIterations = 25 // updates of each k-means, as in FAISS
	// sampledStart is the number of codes beyond which k-means starts from random
	// rows: choosing them far apart would take longer than the clustering.
	sampledStart = 4096
)

// ClassicalFitter fits the codes of one stack to a sample of vectors, on the host
// and without training steps. It returns variables as [Quantizer] Init names them.
type ClassicalFitter func(f *Fitting, c Config, sample Latents, rng *rand.Rand) (weights.Set, error)

// FitOptions tunes [FitClassical].
type FitOptions struct {
	Seed       uint64
	Iterations int // updates of each k-means, rounds of the rotation; 0 means 25
	// Watch, if not nil, is told the work done and the sample's mean squared error
	// over all elements.
	Watch func(done, total int, meanSquare float64)
}

// Fitted is a classical quantizer learned from a sample.
type Fitted struct {
	Variables weights.Set // as [Quantizer] Init names them
	// Rotation [d,d] is orthogonal: codes are for z·Rotation, and its transpose
	// turns decoded vectors back. Nil unless [Config.Rotated].
	Rotation *weights.Array
}

// Classical says whether a method is fitted by [FitClassical] instead of trained.
func Classical(method string) bool { return methods[method].Classical != nil }

// FitClassical learns a classical quantizer from a sample of vectors [N,d], which
// stays unchanged. Equal samples, settings and seeds give equal codes. It fails for
// trained methods, invalid settings, an empty or infinite sample, and when ctx ends.
func FitClassical(ctx context.Context, c Config, sample Latents, o FitOptions) (Fitted, error) {
	m := methods[c.Method]
	if err := c.Validate(sample.Dim); err != nil {
		return Fitted{}, err
	}
	if m.Classical == nil {
		return Fitted{}, fmt.Errorf("method %s learns by training steps and cannot be fitted at once", c.Method)
	}
	if sample.N < 1 {
		return Fitted{}, fmt.Errorf("no vectors to fit %s to", c.Method)
	}
	f := &Fitting{ctx: ctx, iterations: o.Iterations, watch: o.Watch, elements: float64(sample.N) * float64(sample.Dim)}
	if f.iterations <= 0 {
		f.iterations = classicalIterations
	}
	f.total = c.Parts * c.Levels * f.iterations
	rng := weights.Rand(o.Seed, "classical codes")
	var out Fitted
	var err error
	if m.Rotated {
		f.total += f.iterations
		if out.Rotation, f.first, err = f.learnRotation(c, sample, rng); err != nil {
			return Fitted{}, err
		}
		sample = sample.rotate(out.Rotation)
	}
	out.Variables, err = f.parts(c, sample, rng)
	return out, err
}

// Fitting is one run of [FitClassical]: its limits and its progress.
type Fitting struct {
	ctx        context.Context
	iterations int
	watch      func(done, total int, meanSquare float64)
	done       int // of total
	total      int
	elements   float64     // of the sample
	outside    float64     // squared error of the parts that are not being fitted
	inside     float64     // and of the one that is
	first      [][]float32 // first codes [K,d'] of every part's first level, if known
}

// Context ends when the fit is to stop.
func (f *Fitting) Context() context.Context { return f.ctx }

func (f *Fitting) parts(c Config, sample Latents, rng *rand.Rand) (weights.Set, error) {
	layout := Layout{Dim: sample.Dim, Parts: c.Parts}
	fit, set := methods[c.Method].Classical, weights.Set{}
	energy := sample.energies(layout)
	for _, e := range energy {
		f.outside += e
	}
	for part := range c.Parts {
		f.outside -= energy[part]
		vars, err := fit(f, c, sample.Slice(layout.Bounds(part)), rng)
		if err != nil && c.Parts > 1 {
			return nil, fmt.Errorf("part %d: %w", part, err)
		}
		if err != nil || c.Parts == 1 {
			return vars, err
		}
		set.Merge(partPath(part), vars)
		f.outside += f.inside
		if len(f.first) > 0 {
			f.first = f.first[1:]
		}
	}
	return set, nil
}

// energies is the sum of squares of every part.
func (s Latents) energies(layout Layout) []float64 {
	sums := make([]float64, layout.Parts)
	for part := range sums {
		start, end := layout.Bounds(part)
		for i := range s.N {
			for _, x := range s.Row(i)[start:end] {
				sums[part] += float64(x) * float64(x)
			}
		}
	}
	return sums
}

// kmeansOptions start from the given centres [k,d] unless nil.
func kmeansOptions(k, iterations int, start []float32, seed uint64) index.KMeansOptions {
	o := index.KMeansOptions{Seed: seed, Iterations: iterations, Start: start}
	if k > sampledStart {
		o.Init = index.InitSample
	}
	return o
}

// kmeans returns k centres of rest, started as [kmeansOptions] says.
func (f *Fitting) kmeans(rest Latents, k int, start []float32, seed uint64) ([]float32, error) {
	o := kmeansOptions(k, f.iterations, start, seed)
	before := f.done
	o.Watch = func(updates int, total float64) {
		f.done = before + updates
		f.report(total)
	}
	centers, _, err := index.KMeans(f.ctx, rest.Rows, rest.N, rest.Dim, k, o)
	f.done = before + f.iterations
	return centers, err
}

// report tells the watcher the progress and the squared error inside the part.
func (f *Fitting) report(inside float64) {
	f.inside = inside
	if f.watch != nil && f.elements > 0 {
		f.watch(f.done, f.total, (f.outside+inside)/f.elements)
	}
}

func classicalDefaults(c *Config, _ *Rates) {
	c.Learn = "frozen"
	c.Start.Warmup = 0
	c.Resets.Every = 0
}

func checkClassical(c Config, _ int) error {
	switch {
	case c.Shared && c.Levels > 1:
		return fmt.Errorf("quantizer.shared: %s fits a codebook a level; use method ste or grit", c.Method)
	case c.Learn != "frozen":
		return fmt.Errorf("quantizer.learn: %s is fitted once and does not learn by %s; use frozen", c.Method, c.Learn)
	}
	return nil
}
