package eval

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// scoreCase is a case of testdata/scores.json, computed with NumPy.
type scoreCase struct {
	N, M, D, K          int
	Kernel, Weighted    float64
	Precision, Recall   float64
	Density, Coverage   float64
	Sizes               []int
	Infinity            float64
	samples, references []float32
}

func scoreCases(t *testing.T) []scoreCase {
	t.Helper()
	var cases []scoreCase
	readFixture(t, "scores.json", &cases)
	if len(cases) != 3 {
		t.Fatalf("%d cases in the fixture", len(cases))
	}
	for i := range cases {
		c := &cases[i]
		c.samples, c.references = hashedFeatures(1, c.N, c.D, 1, 0), hashedFeatures(500009, c.M, c.D, 1.2, 0.02)
	}
	return cases
}

// NumPy's sums over all pairs, of the sets and of multisets of their vectors; the second
// case has more than one block.
func TestKernelDistanceIntervalEqualsNumPy(t *testing.T) {
	for _, c := range scoreCases(t) {
		got, err := KernelDistanceInterval(context.Background(), c.samples, c.references, c.D, IntervalOptions{Resamples: 20})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "distance", got.Mean, c.Kernel, 1e-5)
		near(t, "distance by loops", got.Mean, slowDiscrepancy(c.samples, c.references, c.D), 1e-5)
		x, y := unweighted(c.samples, c.D, 1), unweighted(c.references, c.D, 1)
		counts := make([]int, max(c.N, c.M))
		for i := range counts {
			counts[i] = i % 3
		}
		x.weigh(0, counts[:c.N])
		for i := range counts {
			counts[i] = i % 4
		}
		y.weigh(0, counts[:c.M])
		resamples, _, err := x.distances(context.Background(), y)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "weighted distance", resamples[0], c.Weighted, 1e-5)
	}
}

// The 95 % interval holds the distance of the distributions in about 95 % of the
// experiments. Vectors of n standard normal components, shifted by s: x·y/d + 1 has
// moments in closed form, here for d = 1 by the moments of normal variables.
func TestKernelIntervalCovers(t *testing.T) {
	const experiments, n, shift = 300, 60, 0.8
	// E (xy + 1)^3 = E x^3 E y^3 + 3 E x^2 E y^2 + 3 E x E y + 1.
	moments := func(mean float64) [3]float64 { return [3]float64{mean, mean*mean + 1, mean*mean*mean + 3*mean} }
	kernel := func(x, y [3]float64) float64 { return x[2]*y[2] + 3*x[1]*y[1] + 3*x[0]*y[0] + 1 }
	p, q := moments(0), moments(shift)
	truth := kernel(p, p) + kernel(q, q) - 2*kernel(p, q)
	random := rand.New(rand.NewPCG(11, 12))
	held, mean := 0, 0.0
	for range experiments {
		a, b := gaussianRows(random, n, 1, 0, 1), gaussianRows(random, n, 1, shift, 1)
		got, err := KernelDistanceInterval(context.Background(), a, b, 1, IntervalOptions{Resamples: 400, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		mean += got.Mean / experiments
		if got.Low <= truth && truth <= got.High {
			held++
		}
		if !(got.Low < got.Mean && got.Mean < got.High) {
			t.Fatalf("the estimate %g is outside of %g to %g", got.Mean, got.Low, got.High)
		}
	}
	if share := float64(held) / experiments; share < 0.88 || share > 0.99 {
		t.Errorf("%.1f %% of the intervals hold the distance %g (mean estimate %g)", 100*share, truth, mean)
	}
}

// Resamples centre on the estimate. If vectors that are drawn twice were pairs, they would
// centre above it by mean k(x,x) - mean k(x,y) over n, about 0.6 here.
func TestResamplesAreCentred(t *testing.T) {
	const n, d, count = 40, 3, 4000
	random := rand.New(rand.NewPCG(13, 14))
	x := newResampled(gaussianRows(random, n, d, 0, 1), d, count, random)
	y := newResampled(gaussianRows(random, n, d, 0.5, 1), d, count, random)
	resamples, whole, err := x.distances(context.Background(), y)
	if err != nil {
		t.Fatal(err)
	}
	all := meanAndStd(resamples)
	if math.Abs(all.Mean-whole) > 0.05*all.Std+4*all.Std/math.Sqrt(count) {
		t.Errorf("resamples centre on %g ± %g, the estimate is %g", all.Mean, all.Std, whole)
	}
}

// Sets of one distribution are 0 apart in expectation.
func TestKernelDistanceIntervalOfOneDistribution(t *testing.T) {
	const sets, n, m, d = 400, 12, 9, 5
	random := rand.New(rand.NewPCG(3, 4))
	estimates := make([]float64, sets)
	for i := range estimates {
		score, err := KernelDistanceInterval(context.Background(), gaussianRows(random, n, d, 0.5, 1), gaussianRows(random, m, d, 0.5, 1), d,
			IntervalOptions{Resamples: 1})
		if err != nil {
			t.Fatal(err)
		}
		estimates[i] = score.Mean
	}
	all := meanAndStd(estimates)
	if standardError := all.Std / math.Sqrt(sets); math.Abs(all.Mean) > 4*standardError {
		t.Errorf("mean %g is more than four standard errors of %g from zero", all.Mean, standardError)
	}
}

func TestKernelDistanceIntervalDependsOnTheSeed(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	a, b := gaussianRows(random, 30, 4, 0, 1), gaussianRows(random, 20, 4, 0.5, 1)
	score := func(seed uint64) KernelInterval {
		s, err := KernelDistanceInterval(context.Background(), a, b, 4, IntervalOptions{Resamples: 50, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if one, two := score(1), score(2); one != score(1) || one.Mean != two.Mean || one.Low == two.Low {
		t.Errorf("seed 1: %v and %v, seed 2: %v", one, score(1), two)
	}
}

func TestKernelDistanceIntervalRefuses(t *testing.T) {
	ctx := context.Background()
	two := []float32{1, 2}
	_, err := KernelDistanceInterval(ctx, two, []float32{1, 2, 3}, 2, IntervalOptions{})
	fails(t, err, "not whole")
	_, err = KernelDistanceInterval(ctx, two, two, 2, IntervalOptions{})
	fails(t, err, "at least 2")
	_, err = KernelDistanceInterval(ctx, two, two, 1, IntervalOptions{Resamples: -1})
	fails(t, err, "not possible")
	_, err = KernelDistanceInterval(ctx, two, []float32{1, float32(math.NaN())}, 1, IntervalOptions{})
	fails(t, err, "finite")
	_, err = KernelDistanceInterval(ctx, []float32{1e30, -1e30}, []float32{1e30, 2}, 1, IntervalOptions{Resamples: 2})
	fails(t, err, "beyond the range")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err = KernelDistanceInterval(ended, two, two, 1, IntervalOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the context ended", err)
	}
}
