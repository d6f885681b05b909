package transform

import (
	"fmt"
	"math"
)

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
