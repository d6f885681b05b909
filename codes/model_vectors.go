package codes

import (
	"fmt"
	"math"
)

// vectorWidth is how many numbers stand for a code's vector in a model.
const vectorWidth = 8

// shortVectors reduces code vectors [K,d] to at most vectorWidth principal
// components, weighted by counts [K], as bytes [K,width] of one scale.
func shortVectors(vectors []float32, counts []uint32) (short []int8, width int, err error) {
	vocab := len(counts)
	d := len(vectors) / vocab
	if d == 0 || len(vectors) != vocab*d {
		return nil, 0, fmt.Errorf("%d numbers are not vectors of %d codes", len(vectors), vocab)
	}
	for i, v := range vectors {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, 0, fmt.Errorf("the vector of code %d holds %g", i/d, v)
		}
	}
	centred := centre(vectors, d, counts)
	width = min(d, vectorWidth)
	axes := mainAxes(centred, d, counts, width)
	values := make([]float64, vocab*width)
	var largest float64
	for code := range vocab {
		for i := range width {
			value := dot(axes[i*d:][:d], centred[code*d:][:d])
			values[code*width+i] = value
			largest = max(largest, math.Abs(value))
		}
	}
	short = make([]int8, len(values))
	if largest > 0 {
		for i, value := range values {
			short[i] = int8(math.Round(value / largest * math.MaxInt8))
		}
	}
	return short, width, nil
}

// centre subtracts the weighted mean.
func centre(vectors []float32, d int, counts []uint32) []float64 {
	mean := make([]float64, d)
	var total float64
	for code, count := range counts {
		w := float64(weight(count))
		total += w
		for j, v := range vectors[code*d:][:d] {
			mean[j] += float64(w * float64(v))
		}
	}
	centred := make([]float64, len(vectors))
	for i, v := range vectors {
		centred[i] = float64(v) - mean[i%d]/total
	}
	return centred
}

// mainAxes returns n orthonormal directions [n,d] of about the largest
// variance of x [K,d], weighted by counts, by orthogonal iteration.
func mainAxes(x []float64, d int, counts []uint32, n int) []float64 {
	axes := make([]float64, n*d)
	for i := range axes {
		// Any start serves that no direction is orthogonal to by accident.
		axes[i] = float64(uint32(i+1)*2654435761>>8)/(1<<24) - 0.5
	}
	orthonormalise(axes, d)
	for range 12 {
		next := make([]float64, n*d)
		for code, count := range counts {
			row := x[code*d:][:d]
			for i := range n {
				along := float64(weight(count)) * dot(axes[i*d:][:d], row)
				addScaled(next[i*d:][:d], along, row)
			}
		}
		orthonormalise(next, d)
		axes = next
	}
	return axes
}

// orthonormalise makes the rows of axes [n,d] orthogonal and of length 1. A row
// that depends linearly on earlier rows becomes zero.
func orthonormalise(axes []float64, d int) {
	for at := 0; at < len(axes); at += d {
		row := axes[at:][:d]
		before := dot(row, row)
		for range 2 { // the second time removes rounding errors
			for other := 0; other < at; other += d {
				addScaled(row, -dot(axes[other:][:d], row), axes[other:][:d])
			}
		}
		scale := 0.0
		if after := dot(row, row); after > 1e-18*before {
			scale = 1 / math.Sqrt(after)
		}
		for i := range row {
			row[i] *= scale
		}
	}
}

// addScaled adds scale times x to sum, rounded the same on every CPU.
func addScaled(sum []float64, scale float64, x []float64) {
	for i := range sum {
		sum[i] += float64(scale * x[i])
	}
}

// solve returns the matrix c [n,m] with a c = b for a positive definite a
// [n,n] and b [n,m], both of which it overwrites, by elimination.
func solve(a, b []float64, n, m int) []float64 {
	for i := range n {
		for row := i + 1; row < n; row++ {
			factor := -a[row*n+i] / a[i*n+i]
			addScaled(a[row*n:][:n], factor, a[i*n:][:n])
			addScaled(b[row*m:][:m], factor, b[i*m:][:m])
		}
	}
	for i := n - 1; i >= 0; i-- {
		for row := i + 1; row < n; row++ {
			addScaled(b[i*m:][:m], -a[i*n+row], b[row*m:][:m])
		}
		for j := range m {
			b[i*m+j] /= a[i*n+i]
		}
	}
	return b
}
