package vq

import (
	"math"
	"testing"

	"github.com/gritvq/gritvq/weights"
)

// An idle code moves beside the code of largest error, half way to its worst row.
func TestReseedMovesIdleCodes(t *testing.T) {
	c := classical(t, "rq", 1, 1)
	c.Codes = 3
	rows := Latents{Rows: []float32{1, 1, 1, 3, 5, 8, 0, 0}, N: 4, Dim: 2}
	j := &jointFit{Fitting: &Fitting{ctx: t.Context()}, config: c, books: [][]float32{{1, 1, 4, 4, -9, -9}}}
	j.reseed(rows, []uint32{0, 0, 1, 0}, 1) // errors: 0, 4 and 2 of code 0; 17 of code 1
	if got := j.books[0][4:]; got[0] != 4.5 || got[1] != 6 {
		t.Errorf("the idle code is %v, want half way from (4,4) to (5,8)", got)
	}
	if got := j.books[0][:4]; got[0] != 1 || got[1] != 1 || got[2] != 4 || got[3] != 4 {
		t.Errorf("codes in use moved: %v", got)
	}
}

// Weights sum to one, fall with the gap and ignore repeated encodings.
func TestSurvivorsAreWeighed(t *testing.T) {
	j := &jointFit{error: 10} // a temperature of 1
	got := j.weigh([]float32{0, 1, 20, 0, float32(math.Inf(1)), float32(math.Inf(1))}, 3)
	best := 1 / (1 + math.Exp(-1))
	for i, want := range []float64{best, 1 - best, 0, 1, 0, 0} {
		if math.Abs(float64(got[i])-want) > 1e-6 {
			t.Errorf("weight %d is %g, want %g", i, got[i], want)
		}
	}
}

// Sums of a coarse and a fine code are found again: the error is that of the noise.
// The mean, far from zero, does not shrink.
func TestRQFindsSumsOfCodes(t *testing.T) {
	const n, dim, noise = 4000, 12, 0.01
	rng := newRand(3)
	sample := Latents{Rows: make([]float32, n*dim), N: n, Dim: dim}
	books := [2]*weights.Array{weights.Normal(rng, 4, 8, dim), weights.Normal(rng, 0.5, 8, dim)}
	for i := range n {
		for _, book := range books {
			for j, v := range book.Row(rng.IntN(8)) {
				sample.Rows[i*dim+j] += v
			}
		}
		for j := range dim {
			sample.Rows[i*dim+j] += 100 + float32(noise*rng.NormFloat64())
		}
	}
	c := classical(t, "rq", 2, 1)
	if got := beamError(t, c, fitted(t, c, sample, FitOptions{}), sample, c.Beam); got > 1.1*noise*noise {
		t.Errorf("error %g, the noise is %g", got, noise*noise)
	}
}

// With few rows a code and little structure, shrunk codes have a smaller error on other rows.
func TestShrinkageHelpsOnHeldOutRows(t *testing.T) {
	const dim = 24
	c := classical(t, "rq", 3, 1)
	c.Codes = 32
	var shrunk, means float64
	for seed := range uint64(3) {
		all := weights.Normal(newRand(60+seed), 1, 1200, dim)
		train, held := Latents{Rows: all.Data[:400*dim], N: 400, Dim: dim}, Latents{Rows: all.Data[400*dim:], N: 800, Dim: dim}
		plain := c
		plain.Start.Shrink = 0
		shrunk += beamError(t, c, planned(t, jointPlans[0], c, train, seed), held, c.Beam)
		means += beamError(t, plain, planned(t, jointPlans[0], plain, train, seed), held, c.Beam)
	}
	if t.Logf("held-out error %.3f with shrinkage, %.3f without", shrunk, means); !(shrunk < 0.95*means) {
		t.Errorf("held-out error %g with shrinkage, %g without", shrunk, means)
	}
}

// With hardly more rows than codes, codes are nearly the rows themselves: shrinkage does not feed on the error that it makes.
func TestShrinkageOfFewRows(t *testing.T) {
	sample := gaussianSample(3, 66, 8)
	c := classical(t, "rq", 1, 1)
	c.Codes, c.Start.Shrink = 60, 4
	left := func(c Config) float64 {
		book := fitted(t, c, sample, FitOptions{Seed: 4}).Variables[levelPath(0)+"/"+CodesPath].Data
		total := 0.0
		for i := range sample.N {
			least := math.Inf(1)
			for code := range c.Codes {
				square := 0.0
				for k, x := range sample.Row(i) {
					square += float64(x-book[code*sample.Dim+k]) * float64(x-book[code*sample.Dim+k])
				}
				least = min(least, square)
			}
			total += least / float64(sample.N)
		}
		return total
	}
	shrunk := left(c)
	c.Start.Shrink = 0
	if plain := left(c); shrunk > plain+0.05*8 {
		t.Errorf("shrunk codes leave %g of the rows, others %g", shrunk, plain)
	}
}
