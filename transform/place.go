package transform

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/weights"
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
// A code's own mixing is forgotten. When Place fails nothing has changed. These kinds move no other code:
//
//   - identity: E_i = target.
//   - linear, Joint: A_i = 0 and E_i = target W⁻¹.
//   - linear, frozen: A_i = (target W⁻¹ - E_i)(Bᵀ E)⁺, and lowrank:
//     A_i = target W⁻¹ (Bᵀ E)⁺; for Rank < d the nearest reachable point.
//   - attention-rownorm: likewise, up to the greatest length of its rows.
//   - full, grouped, frozen: the smallest change of row i of M, exact when the
//     codes it mixes span R^d.
//
// In the others E_i solves the mixing row, about 8 sweeps at diagonal 0.9, and
// every code that mixes code i moves by its weight on it:
//
//   - full, grouped, Joint.
//   - other attention kinds, Joint: scores follow E_i, neighbours stay as the last
//     refresh found them. With frozen codes Place fails.
func (c Config) Place(set weights.Set, codes *weights.Array, rows []int, targets []float32) ([]Touched, error) {
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
	return c.mixer().place(c, set, codes, rows, y)
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
