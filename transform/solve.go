package transform

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// ridge is the Tikhonov weight of every solve, relative to the mean squared singular
// value: a good system is met to 1e-9, a singular direction amplifies by at most 5e4.
const ridge = 1e-10

// solveRows returns X [n,r] that minimises |X t - rhs|² + ridge |X|² for t [r,d]
// and rhs [n,d]: rhs t⁻¹ for an invertible t, rhs t⁺ otherwise.
func solveRows(t []float64, r, d int, rhs []float64) ([]float64, error) {
	n := len(rhs) / d
	tm, rm := mat.NewDense(r, d, t), mat.NewDense(n, d, rhs)
	// X = rhs tᵀ (t tᵀ + λI)⁻¹ = rhs (tᵀ t + λI)⁻¹ tᵀ: the smaller is better conditioned.
	var gram mat.Dense
	if r <= d {
		gram.Mul(tm, tm.T())
	} else {
		gram.Mul(tm.T(), tm)
	}
	size, _ := gram.Dims()
	penalty := ridge*mat.Trace(&gram)/float64(size) + math.SmallestNonzeroFloat32
	symmetric := mat.NewSymDense(size, nil)
	for i := range size {
		for j := i; j < size; j++ {
			symmetric.SetSym(i, j, gram.At(i, j))
		}
		symmetric.SetSym(i, i, gram.At(i, i)+penalty)
	}
	var factor mat.Cholesky
	if !factor.Factorize(symmetric) {
		return nil, fmt.Errorf("the transform's matrix [%d,%d] cannot be inverted (singular or not finite): "+
			"lower its learning rate or clip it", r, d)
	}
	var product, x, out mat.Dense
	right := rm.T() // [d,n]
	if r <= d {
		product.Mul(tm, rm.T()) // [r,n]
		right = &product
	}
	if err := factor.SolveTo(&x, right); err != nil {
		return nil, fmt.Errorf("the transform's matrix [%d,%d] is too ill-conditioned to invert: %w", r, d, err)
	}
	if r <= d {
		out.CloneFrom(x.T())
	} else {
		out.Mul(x.T(), tm.T())
	}
	return out.RawMatrix().Data, nil
}

func mixRows(m rowMixer, p variables) []float64 {
	x := make([]float64, p.k*p.d)
	for i := range p.k {
		m.row(i, x[i*p.d:(i+1)*p.d])
	}
	return x
}

// rowMixer evaluates single rows of M E while codes are being moved.
type rowMixer interface {
	// row writes row i of M E to x and returns M_ii.
	row(i int, x []float64) float64
	// moved tells that delta was added to code i.
	moved(i int, delta []float64)
}
