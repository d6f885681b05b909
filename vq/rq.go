package vq

import (
	"math"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"
)

// RQ is classical residual quantization (Chen, Guan and Wang 2010) with beam search.
// Codes start as cluster centres of what encodings in the beam leave, level by level.
// Sweeps over all levels then move them to the shrunk centroids of their rows. In a
// sweep a row counts for its best encodings, weighted by exp(-gap / temperature) as
// in expectation-maximisation: codes of few rows overfit less. Falling noise on the
// codes leads out of poor minima (SR-D of LSQ++, Martinez et al. 2018).
var RQ = Method{
	Name: "rq", Title: "RQ",
	Summary:   "residual k-means with beam search",
	Defaults:  func(c *Config, r *Rates) { classicalDefaults(c, r); c.Beam = rqBeam },
	Check:     checkClassical,
	Classical: fitRQ,
}

// Chosen on validation rows of item embeddings: Beauty, also in 64 dimensions, and MovieLens.
const (
	rqBeam        = 16
	rqUpdates     = 5   // of each level's k-means: the sweeps do the rest
	rqSweeps      = 12  // twenty gained 0.3 % there, with one encoding a row
	rqSurvivors   = 8   // encodings that a row counts for
	rqTemperature = 0.1 // of their weights, relative to the mean squared error
	rqNoise       = 0.3 // on codes, relative to the deviation of what is left; falls to 0
	rqFinal       = 2   // sweeps over all rows; those before need fewer
	rqRows        = 256 // rows a code that are enough for them
)

func fitRQ(f *Fitting, c Config, sample Latents, rng *rand.Rand) (weights.Set, error) {
	j, err := f.fitJointly(c, sample, rng)
	if err != nil {
		return nil, err
	}
	return j.variables(), nil
}

// fitJointly fits the codes of all levels.
func (f *Fitting) fitJointly(c Config, sample Latents, rng *rand.Rand) (*jointFit, error) {
	p, err := f.plan(c, sample, rng)
	if err != nil {
		return nil, err
	}
	return f.fitPlan(p, c, sample, rng)
}

// fitPlan adds the levels and sweeps over them.
func (f *Fitting) fitPlan(p jointPlan, c Config, sample Latents, rng *rand.Rand) (*jointFit, error) {
	j := newJointFit(f, p, c, sample)
	before, work := f.done, c.Levels*f.iterations
	for l := range c.Levels {
		if err := j.addLevel(rng.Uint64()); err != nil {
			return nil, err
		}
		f.done = before + work*(l+1)/c.Levels/2 // the sweeps take about as long
	}
	sweeps := min(p.sweeps, f.iterations)
	for s := range sweeps {
		if err := f.ctx.Err(); err != nil {
			return nil, err
		}
		rows := j.sample
		if s < sweeps-rqFinal {
			rows = rows.first(rqRows * c.Codes)
		}
		if err := j.sweep(rows, rng, rqNoise*(1-float64(s+1)/float64(sweeps))); err != nil {
			return nil, err
		}
		f.done = before + work/2 + (work-work/2)*(s+1)/sweeps
		f.report(j.error * float64(sample.N))
	}
	f.done = before + work
	if sweeps == 0 {
		left, err := j.leftOf(j.sample)
		if err != nil {
			return nil, err
		}
		f.report(left)
	}
	return j, nil
}

// sweep encodes rows and moves all codes to their centroids. Unless the noise is 0, it
// then re-seeds idle codes and adds the noise.
func (j *jointFit) sweep(rows Latents, rng *rand.Rand, noise float64) error {
	survivors := min(rqSurvivors, j.config.Beam)
	codes, gaps, err := j.survivors(rows, survivors)
	if err != nil {
		return err
	}
	left, err := j.refit(rows, codes, j.weigh(gaps, survivors), 1)
	if err != nil {
		return err
	}
	if noise > 0 {
		j.reseed(rows, codes, survivors)
	}
	j.perturb(left, rows.N, rng, noise)
	return nil
}

// perturb adds noise to the codes, relative to the deviation of each coordinate, given
// the sum over n rows of the squares of what is left.
func (j *jointFit) perturb(left []float64, n int, rng *rand.Rand, noise float64) {
	if noise == 0 {
		return
	}
	deviation := make([]float64, len(left))
	for i, square := range left {
		deviation[i] = noise * math.Sqrt(square/float64(n))
	}
	for _, book := range j.books {
		for i := range book {
			book[i] += float32(rng.NormFloat64() * deviation[i%len(left)])
		}
	}
}

// weigh turns gaps [n,survivors] to the best encoding into weights that sum to 1 in
// every row. Those below a hundredth are dropped.
func (j *jointFit) weigh(gaps []float32, survivors int) []float32 {
	const least = 0.01
	temperature := max(rqTemperature*j.error, math.SmallestNonzeroFloat32)
	for from := 0; from < len(gaps); from += survivors {
		row, total := gaps[from:from+survivors], float32(0)
		for i, gap := range row {
			if row[i] = float32(math.Exp(-float64(gap) / temperature)); row[i] < least || gap != gap {
				row[i] = 0
			}
			total += row[i]
		}
		for i := range row {
			row[i] /= total
		}
	}
	return gaps
}
