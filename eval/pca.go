package eval

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// PCA projects vectors onto their first three principal directions.
type PCA struct {
	Explained  [3]float64 // share of the variance along each direction
	Deviations [3]float64 // standard deviation along each direction

	mean []float64
	axes [3][]float64
}

// FitPCA finds the three directions along which rows [n, d] vary most. The largest
// component of a direction is positive, so that equal data gives equal plots; directions
// beyond d are zero. It fails without rows, on a length other than n*d and on values
// that are not finite.
func FitPCA(rows []float32, n, d int) (*PCA, error) {
	if n < 1 || d < 1 || len(rows) != n*d {
		return nil, fmt.Errorf("principal directions need n >= 1 rows of d >= 1 values, not %d values for n = %d and d = %d", len(rows), n, d)
	}
	values, finite := widen("FitPCA", rows, n, d)
	if !finite {
		return nil, errors.New("principal directions need finite values")
	}
	p := &PCA{mean: centre(values, n, d)}
	covariance := mat.NewSymDense(d, nil)
	covariance.SymOuterK(1/float64(n), mat.NewDense(n, d, values).T())
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return nil, fmt.Errorf("the principal directions of %d rows of %d values could not be found", n, d)
	}
	variances := eigen.Values(nil) // ascending
	var directions mat.Dense
	eigen.VectorsTo(&directions)
	total := mat.Trace(covariance)
	for axis := range p.axes {
		p.axes[axis] = make([]float64, d)
		column := d - 1 - axis
		if column < 0 {
			continue
		}
		mat.Col(p.axes[axis], column, &directions)
		orient(p.axes[axis])
		variance := max(0, variances[column])
		p.Deviations[axis] = math.Sqrt(variance)
		if total > 0 {
			p.Explained[axis] = variance / total
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

// Project returns the coordinates [n] of rows [n, d], with the mean of the fitted rows at
// the origin. It fails on a part of a row.
func (p *PCA) Project(rows []float32) ([][3]float64, error) {
	d := len(p.mean)
	if len(rows)%d != 0 {
		return nil, fmt.Errorf("%d values are not whole rows of %d", len(rows), d)
	}
	points := make([][3]float64, len(rows)/d)
	for i, value := range rows {
		offset := float64(value) - p.mean[i%d]
		for axis := range p.axes {
			points[i/d][axis] += offset * p.axes[axis][i%d]
		}
	}
	return points, nil
}
