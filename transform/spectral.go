package transform

import (
	"math"
)

// ClipFeature rescales w [d,d], in place, so that its spectral norm is at most
// limit, and returns the norm it had. The norm is found by power iteration from
// u [d], which is updated: keep it from step to step (it tracks a slowly moving
// W with one or two iterations) and start it random. Power iteration approaches
// the norm from below; a fresh u needs some tens of iterations. A w within the
// limit is not touched. limit 0 or less only measures.
func ClipFeature(w []float32, d int, limit float64, u []float32, iterations int) (norm float64) {
	right, left := toFloat64(u), make([]float64, d)
	if unit(right) == 0 {
		for j := range right {
			right[j] = 1 + float64(j)/float64(d) // any direction will do
		}
		unit(right)
	}
	matrix := toFloat64(w)
	for range max(1, iterations) {
		for i := range d {
			left[i] = dot(matrix[i*d:(i+1)*d], right)
		}
		if unit(left) == 0 {
			break
		}
		clear(right)
		for i := range d {
			addScaled(right, left[i], matrix[i*d:(i+1)*d])
		}
		norm = unit(right)
	}
	for j, x := range right {
		u[j] = float32(x)
	}
	if limit > 0 && norm > limit {
		for i := range w {
			w[i] = float32(matrix[i] * limit / norm)
		}
	}
	return norm
}

// unit scales x to length 1 and returns the length it had; zero stays zero.
func unit(x []float64) float64 {
	length := math.Sqrt(dot(x, x))
	if length > 0 {
		for i := range x {
			x[i] /= length
		}
	}
	return length
}
