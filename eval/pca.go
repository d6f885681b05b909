package eval

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// PCA2 projects vectors onto two directions, for scatter plots.
type PCA2 struct {
	// Explained is the fraction of the variance along each direction.
	Explained [2]float64

	mean []float64
	axes [2][]float64
}

// FitPCA2 finds the two directions along which rows [n, d], row-major, vary
// most. Each direction's largest component is positive, so that equal data
// gives equal plots; for d = 1 the second direction is zero. It fails without
// rows, on a length other than n*d and on values that are not finite.
func FitPCA2(rows []float32, n, d int) (*PCA2, error) {
	if n < 1 || d < 1 || len(rows) != n*d {
		return nil, fmt.Errorf("principal directions need n >= 1 rows of d >= 1 values, not %d values for n = %d and d = %d", len(rows), n, d)
	}
	values, finite := widen("FitPCA2", rows, n, d)
	if !finite {
		return nil, errors.New("principal directions need finite values")
	}
	p := &PCA2{mean: make([]float64, d), axes: [2][]float64{make([]float64, d), make([]float64, d)}}
	for i, value := range values {
		p.mean[i%d] += value / float64(n)
	}
	for i := range values {
		values[i] -= p.mean[i%d]
	}
	scatter := mat.NewSymDense(d, nil)
	scatter.SymOuterK(1, mat.NewDense(n, d, values).T())
	var eigen mat.EigenSym
	if !eigen.Factorize(scatter, true) {
		return nil, fmt.Errorf("the principal directions of %d rows of %d values could not be found", n, d)
	}
	variances := eigen.Values(nil) // ascending
	var directions mat.Dense
	eigen.VectorsTo(&directions)
	total := mat.Trace(scatter)
	for axis := range min(2, d) {
		column := d - 1 - axis
		mat.Col(p.axes[axis], column, &directions)
		orient(p.axes[axis])
		if total > 0 {
			p.Explained[axis] = max(0, variances[column]/total)
		}
	}
	return p, nil
}

// orient flips a direction whose largest component is negative.
func orient(axis []float64) {
	largest := 0.0
	for _, component := range axis {
		if math.Abs(component) > math.Abs(largest) {
			largest = component
		}
	}
	if largest < 0 {
		for i := range axis {
			axis[i] = -axis[i]
		}
	}
}

// Project returns the plane coordinates [n] of rows [n, d], row-major, with
// the mean of the fitted rows at the origin. It fails on a part of a row.
func (p *PCA2) Project(rows []float32) ([][2]float64, error) {
	d := len(p.mean)
	if len(rows)%d != 0 {
		return nil, fmt.Errorf("%d values are not whole rows of %d", len(rows), d)
	}
	points := make([][2]float64, len(rows)/d)
	for i, value := range rows {
		offset := float64(value) - p.mean[i%d]
		points[i/d][0] += offset * p.axes[0][i%d]
		points[i/d][1] += offset * p.axes[1][i%d]
	}
	return points, nil
}
