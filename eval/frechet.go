package eval

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Gaussian is a normal distribution over feature vectors.
type Gaussian struct {
	Mean       []float64     // [d]
	Covariance *mat.SymDense // [d, d]
}

// FrechetDistance returns the squared Frechet (2-Wasserstein) distance of two Gaussians,
// which Heusel et al. (2017) report over Inception features:
//
//	|m1 - m2|^2 + tr(S1) + tr(S2) - 2 tr((S1 S2)^(1/2))
//
// With S1 = R^T R, S1 S2 has the nonzero eigenvalues of the symmetric R S2 R^T, none of
// them negative, so singular covariances have a real result too. Distances from fewer
// vectors than dimensions mean little: see [KernelDistance]. It fails on different
// dimensions.
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

// factor returns R [rank, d] with R^T R = s by pivoted Cholesky, which stops at the rank
// of a singular covariance.
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

// rootTrace returns the trace of (S1 S2)^(1/2) for S1 = R^T R: the sum of the roots of
// the eigenvalues of R S2 R^T.
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
	values := eigen.Values(nil) // ascending
	// Rounding alone explains smaller ones; roots magnify it: 1e-16 would count 1e-8.
	noise := max(0, values[rank-1]) * float64(rank) * 0x1p-52
	trace := 0.0
	for _, value := range values {
		if value > noise {
			trace += math.Sqrt(value)
		}
	}
	return trace, nil
}

// Features accumulates the mean and covariance of feature vectors, batch by batch, in
// the memory of one [d, d] matrix. The zero value is ready to use. Each batch is centred
// on its own mean before it is merged, as in [Reconstruction], to keep digits.
type Features struct {
	count   int
	mean    []float64     // [d]
	scatter *mat.SymDense // [d, d]: sum of (x - mean)(x - mean)^T
}

// Add counts a batch of rows [n, d]; tens of rows are quicker than single ones. It fails,
// and counts nothing, on a part of a row, on another dimension than before and on values
// that are not finite.
func (f *Features) Add(rows []float32, d int) error {
	if d < 1 || len(rows)%d != 0 {
		return fmt.Errorf("%d values are not whole feature vectors of dimension %d", len(rows), d)
	}
	if f.mean != nil && len(f.mean) != d {
		return fmt.Errorf("features of dimension %d follow others of dimension %d: use one network for all pictures", d, len(f.mean))
	}
	n := len(rows) / d
	values, finite := widen("Features.Add", rows, n, d)
	if !finite {
		return errors.New("a feature is not a finite number: check the pictures and the network")
	}
	if n == 0 {
		return nil
	}
	if f.mean == nil {
		f.mean, f.scatter = make([]float64, d), mat.NewSymDense(d, nil)
	}
	mine, theirs := float64(f.count), float64(n)
	offset := mat.NewVecDense(d, nil) // of the means
	for i, mean := range centre(values, n, d) {
		offset.SetVec(i, mean-f.mean[i])
		f.mean[i] += (mean - f.mean[i]) * theirs / (mine + theirs)
	}
	f.scatter.SymRankOne(f.scatter, mine*theirs/(mine+theirs), offset)
	f.scatter.SymRankK(f.scatter, 1, mat.NewDense(n, d, values).T())
	f.count += n
	return nil
}

// centre subtracts the mean [d] of values [n, d], which it returns.
func centre(values []float64, n, d int) []float64 {
	means := make([]float64, d)
	for i, value := range values {
		means[i%d] += value / float64(n)
	}
	for i := range values {
		values[i] -= means[i%d]
	}
	return means
}

// Gaussian returns the normal distribution with the features' mean and sample covariance
// (divided by n - 1, as published scores do). It fails with fewer than two vectors.
func (f *Features) Gaussian() (Gaussian, error) {
	if f.count < 2 {
		return Gaussian{}, fmt.Errorf("a covariance needs at least 2 feature vectors, not %d", f.count)
	}
	covariance := mat.NewSymDense(len(f.mean), nil)
	covariance.ScaleSym(1/float64(f.count-1), f.scatter)
	return Gaussian{Mean: slices.Clone(f.mean), Covariance: covariance}, nil
}
