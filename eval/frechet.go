package eval

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Gaussian is a normal distribution over feature vectors.
type Gaussian struct {
	Mean       []float64     // [d]
	Covariance *mat.SymDense // [d, d]
}

// FrechetDistance returns the squared Frechet (2-Wasserstein) distance of two
// Gaussians, the number that Heusel et al. (2017) report over Inception
// features:
//
//	|m1 - m2|^2 + tr(S1) + tr(S2) - 2 tr((S1 S2)^(1/2))
//
// With S1 = R^T R, the eigenvalues of S1 S2 that are not zero are those of the
// symmetric R S2 R^T, none of them negative. No root of a general matrix is
// taken, and the result is real for singular covariances too. Those of fewer
// vectors than dimensions say little, though: see [KernelDistance]. It fails on
// dimensions that differ.
func FrechetDistance(a, b Gaussian) (float64, error) {
	d := len(a.Mean)
	if d == 0 || len(b.Mean) != d || a.Covariance.SymmetricDim() != d || b.Covariance.SymmetricDim() != d {
		return 0, fmt.Errorf("distributions of dimension %d and %d cannot be compared: use one network for both", d, len(b.Mean))
	}
	distance := mat.Trace(a.Covariance) + mat.Trace(b.Covariance)
	for i, mean := range a.Mean {
		distance += (mean - b.Mean[i]) * (mean - b.Mean[i])
	}
	overlap, err := rootTrace(factor(a.Covariance), b.Covariance)
	if err != nil {
		return 0, err
	}
	return max(0, distance-2*overlap), nil // equal Gaussians leave a rounding error
}

// factor returns R [rank, d] with R^T R = s, by Cholesky's method with pivots,
// which stops at the rank of a singular covariance.
func factor(s *mat.SymDense) *mat.Dense {
	d := s.SymmetricDim()
	var cholesky mat.PivotedCholesky
	cholesky.Factorize(s, -1) // false: singular, which is no error here
	if cholesky.Rank() == 0 {
		return mat.NewDense(1, d, nil)
	}
	r := mat.NewDense(cholesky.Rank(), d, nil)
	upper := cholesky.RawU()
	for k, column := range cholesky.ColumnPivots(nil) {
		for i := range min(k+1, cholesky.Rank()) {
			r.Set(i, column, upper.At(i, k))
		}
	}
	return r
}

// rootTrace returns the trace of (S1 S2)^(1/2) for S1 = R^T R: the sum of the
// roots of the eigenvalues of R S2 R^T.
func rootTrace(r *mat.Dense, s *mat.SymDense) (float64, error) {
	rank, _ := r.Dims()
	var half, product mat.Dense
	half.Mul(r, s)
	product.Mul(&half, r.T())
	symmetric := mat.NewSymDense(rank, nil)
	for i := range rank {
		for j := i; j < rank; j++ {
			symmetric.SetSym(i, j, (product.At(i, j)+product.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(symmetric, false) {
		return 0, fmt.Errorf("the overlap of two covariances of rank %d could not be computed: check the features for extreme values", rank)
	}
	values := eigen.Values(nil)
	trace := 0.0
	for _, value := range values {
		if value > vanishing(values) {
			trace += math.Sqrt(value)
		}
	}
	return trace, nil
}

// vanishing is the size below which rounding alone explains an eigenvalue of a
// matrix with these ascending ones. Roots magnify it: 1e-16 would count 1e-8.
func vanishing(values []float64) float64 {
	return max(0, values[len(values)-1]) * float64(len(values)) * 0x1p-52
}
