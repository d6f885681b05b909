package eval

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// NumPy: distances of the first rows, and polyfit over 1/N.
func TestExtrapolatedFrechetEqualsNumPy(t *testing.T) {
	for _, c := range scoreCases(t) {
		order := make([]int, max(c.N, c.M))
		for i := range order {
			order[i] = i
		}
		got, err := extrapolateFrechet(context.Background(), c.samples, c.references, c.D, order[:c.N], order[:c.M], c.Sizes)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "extrapolated distance", got, c.Infinity, 1e-6)
	}
}

// Gaussians N(0, I) and N(s, 4I) in 16 dimensions are 16 s^2 + 16 (2 - 1)^2 apart. The distance
// of 400 vectors each is too large by far more than the extrapolation is off.
func TestFrechetInfinityRemovesTheBias(t *testing.T) {
	const n, d, shift, experiments = 400, 16, 0.25, 12
	const truth = d*shift*shift + d
	random := rand.New(rand.NewPCG(21, 22))
	plain, infinite := 0.0, 0.0
	for i := range uint64(experiments) {
		a, b := gaussianRows(random, n, d, 0, 1), gaussianRows(random, n+50, d, shift, 2)
		distance, err := FrechetDistance(gaussianOf(t, a, d), gaussianOf(t, b, d))
		if err != nil {
			t.Fatal(err)
		}
		extrapolated, err := FrechetInfinity(context.Background(), a, b, d, i)
		if err != nil {
			t.Fatal(err)
		}
		plain, infinite = plain+(distance-truth)/experiments, infinite+(extrapolated-truth)/experiments
	}
	if plain < 0.4 || math.Abs(infinite) > plain/2 {
		t.Errorf("the plain distance is off by %g, the extrapolated one by %g", plain, infinite)
	}
}

func TestSizesOfSubsets(t *testing.T) {
	sizes := evenInverses(3000, 4)
	if want := []int{1500, 1800, 2250, 3000}; !slices.Equal(sizes, want) { // 1/N falls in equal steps
		t.Errorf("sizes %v, want %v", sizes, want)
	}
}

func TestFrechetInfinityRefuses(t *testing.T) {
	_, err := FrechetInfinity(context.Background(), make([]float32, 31), make([]float32, 40), 1, 1)
	fails(t, err, "at least 32")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := FrechetInfinity(ended, make([]float32, 40), make([]float32, 40), 1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the context ended", err)
	}
}
