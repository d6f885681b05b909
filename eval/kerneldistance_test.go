package eval

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// slowDiscrepancy is the estimator by its definition, in plain loops.
func slowDiscrepancy(a, b []float32, d int) float64 {
	kernel := func(x, y []float32) float64 {
		dot := 0.0
		for i := range x {
			dot += float64(x[i]) * float64(y[i])
		}
		return math.Pow(dot/float64(d)+1, 3)
	}
	mean := func(a, b []float32, same bool) float64 {
		sum, pairs := 0.0, 0
		for i := 0; i < len(a); i += d {
			for j := 0; j < len(b); j += d {
				if same && i == j {
					continue
				}
				sum += kernel(a[i:i+d], b[j:j+d])
				pairs++
			}
		}
		return sum / float64(pairs)
	}
	return mean(a, a, true) + mean(b, b, true) - 2*mean(a, b, false)
}

func gaussianRows(random *rand.Rand, n, d int, mean, std float64) []float32 {
	rows := make([]float32, n*d)
	for i := range rows {
		rows[i] = float32(mean + std*random.NormFloat64())
	}
	return rows
}

func TestKernelDistanceOfWholeSets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, d := range []int{1, 7, 64} {
		a, b := gaussianRows(random, 30, d, 0, 1), gaussianRows(random, 30, d, 0.3, 1.2)
		got, err := KernelDistance(context.Background(), a, b, d, KernelOptions{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "distance", got.Mean, slowDiscrepancy(a, b, d), 1e-7)
		if got.Std != 0 {
			t.Errorf("one subset varies by %g", got.Std)
		}
	}
}

// Over many pairs of sets from one distribution the estimates centre on zero;
// with the pairs of a vector with itself they would not, by far.
func TestKernelDistanceIsUnbiased(t *testing.T) {
	const sets, n, d = 600, 12, 5
	random := rand.New(rand.NewPCG(3, 4))
	estimates := make([]float64, sets)
	for i := range estimates {
		score, err := KernelDistance(context.Background(), gaussianRows(random, n, d, 0.5, 1), gaussianRows(random, n, d, 0.5, 1), d,
			KernelOptions{})
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

// The mean over subsets approaches the estimate from all vectors with any seed;
// sets of different size take equal shares.
func TestKernelDistanceOverSubsets(t *testing.T) {
	const d = 4
	random := rand.New(rand.NewPCG(5, 6))
	a, b := gaussianRows(random, 60, d, 0, 1), gaussianRows(random, 45, d, 0.7, 1)
	want := slowDiscrepancy(a, b, d)
	score := func(o KernelOptions) KernelScore {
		t.Helper()
		s, err := KernelDistance(context.Background(), a, b, d, o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	many := score(KernelOptions{Subsets: 3000, SubsetSize: 8, Seed: 1})
	if math.Abs(many.Mean-want) > 4*many.Std/math.Sqrt(3000) || many.Std == 0 {
		t.Errorf("%g ± %g over subsets, %g from all", many.Mean, many.Std, want)
	}
	few := KernelOptions{Subsets: 5, SubsetSize: 8, Seed: 1}
	other := few
	other.Seed = 2
	if score(few) != score(few) || score(few) == score(other) {
		t.Error("the seed does not decide the subsets")
	}
	if wide := score(KernelOptions{}); wide.Std == 0 { // 45 of 60, and 45 of 45
		t.Error("subsets of the larger set do not vary")
	}
}

// Subsets looked up among all pairs, and subsets computed on their own, give
// one answer.
func TestKernelsOfSubsets(t *testing.T) {
	const n, m, d = 20, 15, 6
	random := rand.New(rand.NewPCG(7, 8))
	x, _ := widen("test", gaussianRows(random, n, d, 0, 1), n, d)
	y, _ := widen("test", gaussianRows(random, m, d, 0.5, 2), m, d)
	all := newKernels(mat.NewDense(n, d, x), mat.NewDense(m, d, y))
	for range 5 {
		i, j := random.Perm(n)[:7], random.Perm(m)[:7]
		own := []int{0, 1, 2, 3, 4, 5, 6}
		near(t, "subset", all.discrepancy(i, j), newKernels(take(x, d, i), take(y, d, j)).discrepancy(own, own), 1e-9)
	}
}

func TestKernelDistanceRefuses(t *testing.T) {
	ctx := context.Background()
	two := []float32{1, 2}
	_, err := KernelDistance(ctx, two, []float32{1, 2, 3}, 2, KernelOptions{})
	fails(t, err, "not whole")
	_, err = KernelDistance(ctx, two, two, 2, KernelOptions{})
	fails(t, err, "at least 2")
	_, err = KernelDistance(ctx, two, two, 1, KernelOptions{SubsetSize: 1})
	fails(t, err, "not defined")
	_, err = KernelDistance(ctx, two, []float32{1, float32(math.Inf(1))}, 1, KernelOptions{})
	fails(t, err, "finite")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err = KernelDistance(ended, two, two, 1, KernelOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the context ended", err)
	}
}
