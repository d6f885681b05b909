package classical

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The inverse of a matrix of several pivot blocks equals gonum's.
func TestInvert(t *testing.T) {
	for _, n := range []int{1, 7, pivotRows, 2*pivotRows + 77} {
		rng := rand.New(rand.NewPCG(uint64(n), 0))
		a, want := make([]float32, n*n), mat.NewSymDense(n, nil)
		for r := range n {
			for c := range r + 1 {
				x := float32(rng.NormFloat64() * 0.1)
				if r == c {
					x = float32(n)/10 + 3
				}
				a[r*n+c] = x
				want.SetSym(r, c, float64(x))
			}
		}
		if err := invert(t.Context(), a, n, func(int) {}); err != nil {
			t.Fatal(err)
		}
		var chol mat.Cholesky
		var inverse mat.SymDense
		if !chol.Factorize(want) || chol.InverseTo(&inverse) != nil {
			t.Fatal("gonum cannot invert the matrix")
		}
		scale := inverse.At(0, 0)
		for r := range n {
			for c := range n {
				if got := float64(a[r*n+c]); math.Abs(got-inverse.At(r, c)) > 1e-5*scale {
					t.Fatalf("%d rows: element %d, %d is %g, want %g", n, r, c, got, inverse.At(r, c))
				}
			}
		}
	}
}

func TestInvertRefuses(t *testing.T) {
	if err := invert(t.Context(), []float32{1, 0, 2, 1}, 2, func(int) {}); err == nil || !strings.Contains(err.Error(), "singular") {
		t.Errorf("an indefinite matrix: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := invert(ctx, []float32{1}, 1, func(int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped inversion: %v", err)
	}
}

func BenchmarkInvert(b *testing.B) {
	const n = 3000
	a := make([]float32, n*n)
	for b.Loop() {
		clear(a)
		for i := range n {
			a[i*n+i] = 2
		}
		if err := invert(b.Context(), a, n, func(int) {}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2*float64(n)*n*n/2*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
