package eval

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"
)

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
