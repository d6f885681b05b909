package eval

import (
	"errors"
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

// Features accumulates the mean and covariance of feature vectors, batch by
// batch, so that a set of any size takes the memory of one [d, d] matrix. The
// zero value is ready to use. Each batch is centred on its own mean before it
// is merged, as [Reconstruction] does, so that no digits are lost to the mean.
type Features struct {
	count   int
	mean    []float64     // [d]
	scatter *mat.SymDense // [d, d]: sum of (x - mean)(x - mean)^T
}

// Add counts a batch of rows [n, d], row-major. It fails, and counts nothing,
// on a part of a row, on rows of another dimension than earlier ones and on
// values that are not finite. Batches of tens of rows are quicker than single
// ones.
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
	batch := Features{count: n, mean: make([]float64, d)}
	for i, value := range values {
		batch.mean[i%d] += value / float64(n)
	}
	for i := range values {
		values[i] -= batch.mean[i%d]
	}
	if f.mean == nil {
		f.mean, f.scatter = make([]float64, d), mat.NewSymDense(d, nil)
	}
	f.mergeMean(&batch)
	f.scatter.SymRankK(f.scatter, 1, mat.NewDense(n, d, values).T())
	return nil
}

// mergeMean counts the rows of other and moves the mean; the distance of the
// means joins the scatter, other's own scatter is left to the caller.
func (f *Features) mergeMean(other *Features) {
	mine, theirs := float64(f.count), float64(other.count)
	total := mine + theirs
	offset := mat.NewVecDense(len(f.mean), nil)
	for i, mean := range other.mean {
		offset.SetVec(i, mean-f.mean[i])
		f.mean[i] += (mean - f.mean[i]) * theirs / total
	}
	f.scatter.SymRankOne(f.scatter, mine*theirs/total, offset)
	f.count += other.count
}

// Gaussian returns the normal distribution with the features' mean and sample
// covariance (divided by n - 1, as the published scores do). It fails with
// fewer than two vectors.
func (f *Features) Gaussian() (Gaussian, error) {
	if f.count < 2 {
		return Gaussian{}, fmt.Errorf("a covariance needs at least 2 feature vectors, not %d", f.count)
	}
	covariance := mat.NewSymDense(len(f.mean), nil)
	covariance.ScaleSym(1/float64(f.count-1), f.scatter)
	return Gaussian{Mean: append([]float64{}, f.mean...), Covariance: covariance}, nil
}
