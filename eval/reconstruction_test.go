package eval

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s = %.15g, want %.15g", what, got, want)
	}
}

func fails(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

func TestReconstructionByHand(t *testing.T) {
	// Vectors (3,4), (0,0), (0,0), (1,1) against (4,3), (0,0), (1,0), (0,0).
	// Squared errors 2, 0, 1, 2; mean (1, 1.25), squared offsets
	// 11.5625, 2.5625, 2.5625, 0.0625; cosines 24/25, 1, 0, 0.
	var r Reconstruction
	if err := r.Add([]float32{3, 4, 0, 0, 0, 0, 1, 1}, []float32{4, 3, 0, 0, 1, 0, 0, 0}, 2); err != nil {
		t.Fatal(err)
	}
	near(t, "MSE", r.MSE(), 5.0/8, 1e-15)
	near(t, "relative error", r.RelativeError(), 5/16.75, 1e-15)
	near(t, "cosine", r.Cosine(), (0.96+1)/4, 1e-15)
}

func TestReconstructionBatchesAndMergeGiveTheWhole(t *testing.T) {
	const rows, dim = 3000, 5
	random := rand.New(rand.NewPCG(3, 4))
	x, xhat := make([]float32, rows*dim), make([]float32, rows*dim)
	for i := range x {
		// A large common mean: a difference of squares would keep 4 digits.
		x[i] = float32(1e4 + 0.01*random.NormFloat64())
		xhat[i] = x[i] + float32(0.005*random.NormFloat64())
	}
	var squaredError, scatter float64
	for column := range dim {
		mean := 0.0
		for i := column; i < len(x); i += dim {
			mean += float64(x[i])
		}
		mean /= rows
		for i := column; i < len(x); i += dim {
			squaredError += math.Pow(float64(x[i])-float64(xhat[i]), 2)
			scatter += math.Pow(float64(x[i])-mean, 2)
		}
	}
	var whole, batches Reconstruction
	if err := whole.Add(x, xhat, dim); err != nil {
		t.Fatal(err)
	}
	for start := 0; start < rows; {
		end := min(rows, start+1+random.IntN(200))
		if err := batches.Add(x[start*dim:end*dim], xhat[start*dim:end*dim], dim); err != nil {
			t.Fatal(err)
		}
		start = end
	}
	for name, r := range map[string]*Reconstruction{"whole": &whole, "batches": &batches} {
		near(t, name+" relative error", r.RelativeError()/(squaredError/scatter), 1, 1e-9)
		near(t, name+" MSE", r.MSE()/(squaredError/(rows*dim)), 1, 1e-12)
		near(t, name+" cosine", r.Cosine(), whole.Cosine(), 1e-12)
	}
}

func TestReconstructionEdges(t *testing.T) {
	var r Reconstruction
	if !math.IsNaN(r.MSE()) || !math.IsNaN(r.RelativeError()) || !math.IsNaN(r.Cosine()) {
		t.Error("scores without vectors")
	}
	fails(t, r.Add([]float32{1, 2, 3}, []float32{1, 2, 3}, 2), "not whole vectors of dimension 2")
	fails(t, r.Add([]float32{1, 2}, []float32{1}, 1), "reconstruction of 1")
	fails(t, r.Add(nil, nil, 0), "dimension 0")
	if err := r.Add([]float32{1, 2, 1, 2}, []float32{1, 2, 1, 2}, 2); err != nil {
		t.Fatal(err)
	}
	near(t, "perfect on equal vectors", r.RelativeError(), 0, 0)
	fails(t, r.Add([]float32{1}, []float32{1}, 1), "dimension 1 follow others of dimension 2")
	if err := r.Add([]float32{1, 2}, []float32{1, 3}, 2); err != nil {
		t.Fatal(err)
	}
	if !math.IsInf(r.RelativeError(), 1) {
		t.Errorf("error relative to no spread is %g", r.RelativeError())
	}
}
