package transform

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// ridge is the Tikhonov weight of every solve, relative to the mean squared
// singular value: small enough that a well-conditioned system is met to 1e-9,
// large enough that a singular direction amplifies by at most 5e4.
const ridge = 1e-10

// solveRows returns X [n,r] that minimises |X t - rhs|² + ridge |X|² row by row,
// for t [r,d] and rhs [n,d]: rhs t⁻¹ for an invertible t, rhs t⁺ otherwise.
func solveRows(t []float64, r, d int, rhs []float64) ([]float64, error) {
	n := len(rhs) / d
	tm, rm := mat.NewDense(r, d, t), mat.NewDense(n, d, rhs)
	// X = rhs tᵀ (t tᵀ + λI)⁻¹ = rhs (tᵀ t + λI)⁻¹ tᵀ: the smaller system is the
	// better conditioned one.
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
	var right, x, out mat.Dense
	if r <= d {
		right.Mul(tm, rm.T()) // [r,n]
		if err := factor.SolveTo(&x, &right); err != nil {
			return nil, fmt.Errorf("the transform's matrix [%d,%d] is too ill-conditioned to invert: %w", r, d, err)
		}
		out.CloneFrom(x.T())
	} else {
		if err := factor.SolveTo(&x, rm.T()); err != nil { // [d,n]
			return nil, fmt.Errorf("the transform's matrix [%d,%d] is too ill-conditioned to invert: %w", r, d, err)
		}
		out.Mul(x.T(), tm.T())
	}
	return out.RawMatrix().Data, nil
}

// mixRows returns all rows of M E [K,d].
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

const (
	sweepLimit     = 100  // Gauss-Seidel sweeps; diagonal weight 0.9 needs about 8
	sweepTolerance = 1e-7 // relative to the longest target
)

// sweep changes rows of codes [K,d] until the same rows of M E equal y, by
// Gauss-Seidel over the chosen rows. Where M follows the codes a step can miss;
// it is then halved until it brings its row nearer. It converges where a row's
// own weight is larger than its weights on the other chosen rows, and fails
// otherwise.
func sweep(m rowMixer, codes []float64, d int, rows []int, y []float64) error {
	scale := 1e-30
	for n := range rows {
		scale = math.Max(scale, math.Sqrt(dot(y[n*d:(n+1)*d], y[n*d:(n+1)*d])))
	}
	step := make([]float64, d)
	// miss leaves y_n - (M E)_i in step and returns its length and M_ii.
	miss := func(n, i int) (length, self float64) {
		self = m.row(i, step)
		for j := range step {
			step[j] = y[n*d+j] - step[j]
		}
		return math.Sqrt(dot(step, step)), self
	}
	apply := func(i int, move []float64) {
		addScaled(codes[i*d:(i+1)*d], 1, move)
		m.moved(i, move)
	}
	move := make([]float64, d)
	worst := 0.0
	for range sweepLimit {
		worst = 0
		for n, i := range rows {
			before, self := miss(n, i)
			if math.Abs(self) < 1e-3 || math.IsNaN(before) || before > 1e6*scale {
				return fmt.Errorf("code %d cannot be placed: its own weight in its mixing row is %.3g; "+
					"use a larger diagonal or a linear transform", i, self)
			}
			worst = math.Max(worst, before)
			clear(move)
			addScaled(move, 1/self, step)
			apply(i, move)
			for range 10 {
				if after, _ := miss(n, i); after <= before {
					break
				}
				for j := range move {
					move[j] /= -2
				}
				apply(i, move) // half of the way back
				for j := range move {
					move[j] = -move[j]
				}
			}
		}
		if worst <= sweepTolerance*scale {
			return nil
		}
	}
	return fmt.Errorf("placing %d codes left an error of %.3g after %d sweeps: their mixing rows lean too much on each other; "+
		"place fewer codes at a time", len(rows), worst, sweepLimit)
}
