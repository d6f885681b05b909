package vq

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// LSQ is additive quantization by local search (Martinez et al. 2016, 2018: LSQ++):
// codes of all levels are the regularised least-squares solution for the encodings of
// the sample, which an iterated local search over all levels finds. It starts from the
// codes of [RQ].
var LSQ = Method{
	Name: "lsq", Title: "LSQ",
	Summary:   "additive codes: least squares and local search over all levels",
	Defaults:  func(c *Config, r *Rates) { RQ.Defaults(c, r); c.Search = Local },
	Check:     checkAdditive,
	Classical: fitLSQ,
}

const (
	lsqSweeps = 10  // alternations of search and least squares
	lsqRounds = 8   // of the local search in each, as in FAISS
	lsqPasses = 4   // over the levels that solve for the least squares
	lsqNoise  = 0.3 // as of rq
)

func checkAdditive(c Config, dim int) error {
	if !index.TablesFit(c.Codes, c.Levels) {
		return fmt.Errorf("quantizer.codes: %s keeps the products of all pairs of codes, too many for %d levels of %d; use fewer codes",
			c.Method, c.Levels, c.Codes)
	}
	return checkClassical(c, dim)
}

func fitLSQ(f *Fitting, c Config, sample Latents, rng *rand.Rand) (weights.Set, error) {
	j, err := f.fitJointly(c, sample, rng)
	if err != nil {
		return nil, err
	}
	codes, _, err := j.survivors(j.sample, 1)
	if err != nil {
		return nil, err
	}
	sweeps := min(lsqSweeps, f.iterations)
	if j.plan.sweeps == 0 {
		sweeps = 0 // they would learn the few rows by heart
	}
	for s := range sweeps {
		if err := f.ctx.Err(); err != nil {
			return nil, err
		}
		books, err := j.codes()
		if err != nil {
			return nil, err
		}
		stack, err := index.NewAdditive(books...)
		if err != nil {
			return nil, err
		}
		if err := stack.Improve(f.ctx, j.sample.Rows, j.sample.N, codes, lsqRounds, rng.Uint64(), 0); err != nil {
			return nil, err
		}
		left, err := j.refit(j.sample, codes, slices.Repeat([]float32{1}, j.sample.N), lsqPasses)
		if err != nil {
			return nil, err
		}
		f.report(j.error * float64(sample.N))
		j.perturb(left, j.sample.N, rng, lsqNoise*(1-float64(s+1)/float64(sweeps)))
	}
	return j.variables(), nil
}
