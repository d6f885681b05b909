package eval

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

func manifoldsOf(t *testing.T, samples, real []float32, d, k int) Manifold {
	t.Helper()
	m, err := CompareManifolds(context.Background(), samples, real, d, k)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManifoldsEqualNumPy(t *testing.T) {
	for _, c := range scoreCases(t) {
		got := manifoldsOf(t, c.samples, c.references, c.D, c.K)
		near(t, "precision", got.Precision, c.Precision, 1e-12)
		near(t, "recall", got.Recall, c.Recall, 1e-12)
		near(t, "density", got.Density, c.Density, 1e-12)
		near(t, "coverage", got.Coverage, c.Coverage, 1e-12)
	}
}

// Equal sets cover each other. Every vector is in its own ball and in those of the vectors
// that have it among their k nearest: k + 1 on average.
func TestManifoldsOfEqualAndDisjointSets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	a := gaussianRows(random, 40, 6, 3, 1)
	if got := manifoldsOf(t, a, a, 6, 3); got.Precision != 1 || got.Recall != 1 || got.Coverage != 1 || got.Density != 4.0/3 {
		t.Errorf("equal sets: %+v", got)
	}
	far := gaussianRows(random, 50, 6, 300, 1)
	if got := manifoldsOf(t, far, a, 6, 3); got != (Manifold{}) {
		t.Errorf("disjoint sets: %+v", got)
	}
	// One vector many times: radii of zero hold equal vectors and no others.
	same, other := make([]float32, 12), make([]float32, 12)
	other[0] = 1e-3
	if got := manifoldsOf(t, other, same, 1, 3); got.Precision != 11.0/12 || got.Recall != 1 {
		t.Errorf("repeated vectors: %+v", got)
	}
}

// Samples of one of two clusters are realistic and draw half of what there is.
func TestManifoldsOfHalfTheModes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	real := append(gaussianRows(random, 100, 4, 0, 1), gaussianRows(random, 100, 4, 50, 1)...)
	got := manifoldsOf(t, gaussianRows(random, 200, 4, 0, 1), real, 4, 3)
	if got.Precision < 0.85 || got.Recall < 0.4 || got.Recall > 0.5 || got.Coverage < 0.4 || got.Coverage > 0.5 {
		t.Errorf("one of two clusters: %+v", got)
	}
}

func TestManifoldsRefuse(t *testing.T) {
	ctx := context.Background()
	_, err := CompareManifolds(ctx, make([]float32, 3), make([]float32, 9), 1, 3)
	fails(t, err, "at least 4")
	_, err = CompareManifolds(ctx, make([]float32, 3), make([]float32, 9), 1, 0)
	fails(t, err, "not defined")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err = CompareManifolds(ended, make([]float32, 9), make([]float32, 9), 1, 3); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the context ended", err)
	}
}
