package vq

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/weights"
)

// turned returns Gaussian rows of unequal scales in a random frame, the frame
// [d,d], and the scales' product over each half.
func turned(seed uint64, n, dim int) (Latents, *mat.Dense) {
	rng := newRand(seed)
	m := mat.NewDense(dim, dim, nil)
	for i := range dim {
		for j := range dim {
			m.Set(i, j, rng.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(m)
	var frame mat.Dense
	qr.QTo(&frame)
	plain := Latents{Rows: weights.Normal(rng, 1, n, dim).Data, N: n, Dim: dim}
	for i := range plain.Rows {
		plain.Rows[i] *= float32(math.Exp(-0.6 * float64(i%dim)))
	}
	return plain.rotate(toArray(&frame)), &frame
}

func TestOPQBeatsPQAndStaysOrthogonal(t *testing.T) {
	const dim = 8
	sample, _ := turned(1, 2000, dim)
	pq, opq := classical(t, "pq", 1, 2), classical(t, "opq", 1, 2)
	pq.Codes, opq.Codes = 32, 32
	plain := reconstructionError(t, pq, fitted(t, pq, sample, FitOptions{}), sample)
	f := fitted(t, opq, sample, FitOptions{})
	rotated := reconstructionError(t, opq, f, sample)
	t.Logf("pq %.5f, opq %.5f", plain, rotated)
	if rotated > 0.9*plain {
		t.Errorf("the rotation leaves an error of %g, without it %g", rotated, plain)
	}
	for i := range dim {
		for j := range dim {
			product, want := 0.0, 0.0
			for k := range dim {
				product += float64(f.Rotation.Data[i*dim+k]) * float64(f.Rotation.Data[j*dim+k])
			}
			if i == j {
				want = 1
			}
			if math.Abs(product-want) > 1e-5 {
				t.Fatalf("rows %d and %d of the rotation have product %g", i, j, product)
			}
		}
	}
	unrotated := fitted(t, pq, sample, FitOptions{})
	if unrotated.Rotation != nil || pq.Rotated() || !opq.Rotated() {
		t.Error("pq has a rotation, or opq has none")
	}
}

// Learning the rotation improves on where it starts.
func TestOPQImprovesOnPrincipalDirections(t *testing.T) {
	sample, _ := turned(2, 3000, 8)
	for i := range sample.Rows { // not Gaussian: principal directions are not the best frame
		sample.Rows[i] = float32(math.Copysign(math.Pow(math.Abs(float64(sample.Rows[i])), 1.5), float64(sample.Rows[i])))
	}
	c := classical(t, "opq", 1, 2)
	c.Codes = 16
	var errors []float64
	fitted(t, c, sample, FitOptions{Iterations: 25, Watch: func(done, total int, meanSquare float64) {
		if done <= 25 && len(errors) < 25 {
			errors = append(errors, meanSquare)
		}
	}})
	if len(errors) != 25 || errors[24] > 0.99*errors[2] {
		t.Errorf("errors of the rounds: %.5g", errors)
	}
}

// The orthogonal factor undoes a rotation, equals U Vᵀ, and exists for singular
// matrices too.
func TestOrthogonalFactor(t *testing.T) {
	sample, frame := turned(3, 50, 5)
	x := mat.NewDense(50, 5, nil)
	for i, v := range sample.Rows {
		x.Set(i/5, i%5, float64(v))
	}
	var y, pull mat.Dense
	y.Mul(x, frame)
	pull.Mul(x.T(), &y)
	factor, err := orthogonalFactor(&pull)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(factor, frame, 1e-8) {
		t.Errorf("the frame\n%v\nis recovered as\n%v", mat.Formatted(frame), mat.Formatted(factor))
	}
	var svd mat.SVD
	var u, v, want mat.Dense
	svd.Factorize(&pull, mat.SVDFull)
	svd.UTo(&u)
	svd.VTo(&v)
	want.Mul(&u, v.T())
	if quick := newtonPolar(&pull); quick == nil || !mat.EqualApprox(quick, &want, 1e-8) {
		t.Errorf("Newton's iteration gives %v", quick)
	}
	singular := mat.NewDense(3, 3, []float64{1, 2, 3, 2, 4, 6, 0, 0, 1})
	factor, err = orthogonalFactor(singular)
	if err != nil {
		t.Fatal(err)
	}
	var product mat.Dense
	product.Mul(factor, factor.T())
	if !mat.EqualApprox(&product, mat.NewDiagDense(3, []float64{1, 1, 1}), 1e-8) {
		t.Errorf("the factor of a singular matrix is not orthogonal: %v", mat.Formatted(&product))
	}
}

// The parts start with variances of nearly equal product.
func TestBalancedFrame(t *testing.T) {
	sample, _ := turned(4, 4000, 8)
	layout := Layout{Dim: 8, Parts: 2}
	frame, err := sample.balancedFrame(layout)
	if err != nil {
		t.Fatal(err)
	}
	rotated := sample.rotate(toArray(frame))
	products := make([]float64, 2) // logarithms
	for j := range 8 {
		variance := 0.0
		for i := range rotated.N {
			variance += float64(rotated.Rows[i*8+j]) * float64(rotated.Rows[i*8+j]) / float64(rotated.N)
		}
		products[j/4] += math.Log(variance)
	}
	// The logarithms of the variances are 0, -1.2, ... -8.4: they divide into
	// sums that differ by at most one step.
	if math.Abs(products[0]-products[1]) > 1.4 {
		t.Errorf("log products of the variances are %.3f and %.3f", products[0], products[1])
	}
}
