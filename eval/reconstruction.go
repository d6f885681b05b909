// Package eval computes scores from plain slices: how well vectors and pictures are
// reconstructed, how codes are used and spread, how well items are ranked, and whether two
// methods differ by more than chance.
package eval

import (
	"fmt"
	"math"
)

// Reconstruction accumulates how close reconstructions are to their vectors, batch by
// batch. The zero value is ready to use.
//
// The spread around the mean is accumulated as Chan, Golub and LeVeque do (each batch
// around its own mean, then merged): the textbook difference of squares loses all digits
// when the mean is large.
type Reconstruction struct {
	rows         int
	squaredError float64   // sum of |x - x^|^2
	cosines      float64   // sum of cos(x, x^)
	mean         []float64 // [dim], of x
	scatter      float64   // sum of |x - mean|^2
}

// Add counts a batch of vectors x and their reconstructions xhat, both [n, dim]. It fails,
// and counts nothing, when the lengths do not agree with each other, with dim, or with
// earlier batches.
func (r *Reconstruction) Add(x, xhat []float32, dim int) error {
	if dim <= 0 || len(x)%dim != 0 {
		return fmt.Errorf("%d values are not whole vectors of dimension %d", len(x), dim)
	}
	if len(x) != len(xhat) {
		return fmt.Errorf("%d values are compared with a reconstruction of %d", len(x), len(xhat))
	}
	if r.mean != nil && len(r.mean) != dim {
		return fmt.Errorf("vectors of dimension %d follow others of dimension %d", dim, len(r.mean))
	}
	if len(x) == 0 {
		return nil
	}
	batch := Reconstruction{rows: len(x) / dim, mean: make([]float64, dim)}
	for start := 0; start < len(x); start += dim {
		var dot, xx, yy float64
		for i, value := range x[start : start+dim] {
			v, w := float64(value), float64(xhat[start+i])
			batch.mean[i] += v
			batch.squaredError += (v - w) * (v - w)
			dot += v * w
			xx += v * v
			yy += w * w
		}
		batch.cosines += cosine(dot, xx, yy)
	}
	for i := range batch.mean {
		batch.mean[i] /= float64(batch.rows)
	}
	for start := 0; start < len(x); start += dim {
		for i, value := range x[start : start+dim] {
			offset := float64(value) - batch.mean[i]
			batch.scatter += offset * offset
		}
	}
	r.merge(&batch)
	return nil
}

// cosine of two vectors from their product and squared norms.
func cosine(dot, xx, yy float64) float64 {
	switch {
	case xx == 0 && yy == 0:
		return 1
	case xx == 0 || yy == 0:
		return 0
	}
	return dot / (math.Sqrt(xx) * math.Sqrt(yy))
}

func (r *Reconstruction) merge(other *Reconstruction) {
	if r.mean == nil {
		r.mean = make([]float64, len(other.mean))
	}
	mine, theirs := float64(r.rows), float64(other.rows)
	total := mine + theirs
	for i, mean := range other.mean {
		offset := mean - r.mean[i]
		r.scatter += offset * offset * mine * theirs / total
		r.mean[i] += offset * theirs / total
	}
	r.scatter += other.scatter
	r.squaredError += other.squaredError
	r.cosines += other.cosines
	r.rows += other.rows
}

// MSE returns the squared error averaged over all elements; NaN without vectors.
func (r *Reconstruction) MSE() float64 {
	return r.squaredError / (float64(r.rows) * float64(len(r.mean)))
}

// RelativeError returns sum |x - x^|^2 / sum |x - mean(x)|^2 over the counted vectors: 0
// is perfect, 1 is as good as the mean. Where all vectors are equal it is 0 for a perfect
// reconstruction and +Inf otherwise; NaN without vectors.
func (r *Reconstruction) RelativeError() float64 {
	if r.rows > 0 && r.squaredError == 0 {
		return 0
	}
	return r.squaredError / r.scatter
}

// Cosine returns the cosine of x and x^ averaged over vectors. A zero vector counts 1 when
// its reconstruction is zero too, else 0; NaN without vectors.
func (r *Reconstruction) Cosine() float64 { return r.cosines / float64(r.rows) }
