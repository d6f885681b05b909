package transform

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/weights"
)

// PlaceMode says why codes are moved.
type PlaceMode int

const (
	// Reset revives dead codes; a code's own mixing is forgotten.
	Reset PlaceMode = iota
	// Average follows a running average; mixing stays as it is.
	Average
)

// Touched is a variable row that was overwritten from outside the optimizer: its
// moments must be reset.
type Touched struct {
	Path string
	Row  int
}

// Place changes variables, in place, so that usable code rows[i] becomes
// targets[i*d:(i+1)*d], and lists the overwritten rows. With row normalisation
// only the direction of a target can be met; the length is kept in the raw code.
// When Place fails nothing has changed. These kinds move no other code:
//
//   - identity: E_i = target.
//   - linear, Joint: Reset sets A_i = 0 and E_i = target W⁻¹, Average sets
//     E_i = target W⁻¹ - A_i Bᵀ E0.
//   - linear, frozen: A_i = (target W⁻¹ - E_i)(Bᵀ E)⁺, and lowrank:
//     A_i = target W⁻¹ (Bᵀ E)⁺; for Rank < d the nearest reachable point.
//   - full, grouped, frozen: the smallest change of row i of M, exact when the
//     codes it mixes span R^d.
//
// In the others E_i solves the mixing row, about 8 sweeps at diagonal 0.9, and
// every code that mixes code i moves by its weight on it:
//
//   - full, grouped, Joint.
//   - attention kinds, Joint: scores follow E_i, neighbours stay as the last
//     refresh found them. With frozen codes Place fails.
func (c Config) Place(set weights.Set, codes *weights.Array, rows []int, targets []float32, mode PlaceMode) ([]Touched, error) {
	k, d := codes.Shape[0], codes.Shape[1]
	if len(targets) != len(rows)*d {
		return nil, fmt.Errorf("%d codes of width %d need %d target values, got %d", len(rows), d, len(rows)*d, len(targets))
	}
	if len(rows) == 0 {
		return nil, nil
	}
	seen := make(map[int]bool, len(rows))
	for _, i := range rows {
		if i < 0 || i >= k {
			return nil, fmt.Errorf("code %d cannot be placed: there are codes 0 to %d", i, k-1)
		}
		if seen[i] {
			return nil, fmt.Errorf("code %d is to be placed twice: give every code once", i)
		}
		seen[i] = true
	}
	y := toFloat64(targets)
	for i, x := range y {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("the target of code %d is not finite: skip the batch it came from", rows[i/d])
		}
	}
	if c.hasFeature() {
		var err error
		if y, err = solveRows(toFloat64(set["feature/w"].Data), d, d, y); err != nil {
			return nil, fmt.Errorf("inverting feature/w: %w", err)
		}
	}
	return c.mixer().place(c, set, codes, rows, y, mode)
}

func store(path string, a *weights.Array, rows []int, values []float64) []Touched {
	width := len(values) / len(rows)
	touched := make([]Touched, len(rows))
	for n, i := range rows {
		for j, x := range values[n*width : (n+1)*width] {
			a.Data[i*width+j] = float32(x)
		}
		touched[n] = Touched{path, i}
	}
	return touched
}

// placeBySweep solves the mixing rows for the raw codes, on a float64 copy that
// replaces the codes on success.
func placeBySweep(set weights.Set, codes *weights.Array, rows []int, y []float64, start func(p variables) rowMixer) ([]Touched, error) {
	p := widen(set, codes)
	moved := p.get("codes")
	if err := sweep(start(p), moved, p.d, rows, y); err != nil {
		return nil, err
	}
	values := make([]float64, 0, len(rows)*p.d)
	for _, i := range rows {
		values = append(values, moved[i*p.d:(i+1)*p.d]...)
	}
	return store("codes", codes, rows, values), nil
}

// placeAttention places trained codes; frozen ones have no variable of their own.
func placeAttention(
	c Config, set weights.Set, codes *weights.Array, rows []int, y []float64, start func(p variables) rowMixer,
) ([]Touched, error) {
	if !c.Joint {
		return nil, fmt.Errorf("kind %s with frozen codes has no variable of a single code to place: "+
			"set joint to true, or turn resets off", c.Kind)
	}
	return placeBySweep(set, codes, rows, y, start)
}

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

const (
	sweepLimit     = 100  // Gauss-Seidel sweeps; diagonal weight 0.9 needs about 8
	sweepTolerance = 1e-7 // relative to the longest target
)

// sweep changes rows of codes [K,d] until the same rows of M E equal y, by
// Gauss-Seidel over the chosen rows. Where M follows the codes a step can miss; it
// is then halved until it brings its row nearer. It fails where a row's own weight
// is not larger than its weights on the other chosen rows.
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
