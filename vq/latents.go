package vq

import (
	"math"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// Latents are vectors on the host, row-major.
type Latents struct {
	Rows []float32 // [N,Dim]
	N    int
	Dim  int
}

// rowsOf views a matrix as latents, sharing memory.
func rowsOf(a *weights.Array) Latents {
	return Latents{Rows: a.Data, N: a.Shape[0], Dim: len(a.Data) / a.Shape[0]}
}

// Row returns vector i, sharing memory.
func (s Latents) Row(i int) []float32 { return s.Rows[i*s.Dim : (i+1)*s.Dim] }

// first returns the leading vectors, n at most, sharing memory.
func (s Latents) first(n int) Latents {
	n = min(n, s.N)
	return Latents{Rows: s.Rows[:n*s.Dim], N: n, Dim: s.Dim}
}

// clone copies the latents.
func (s Latents) clone() Latents {
	return Latents{Rows: append([]float32(nil), s.Rows...), N: s.N, Dim: s.Dim}
}

// Slice returns columns [start,end).
func (s Latents) Slice(start, end int) Latents {
	if start == 0 && end == s.Dim {
		return s
	}
	out := Latents{Rows: make([]float32, s.N*(end-start)), N: s.N, Dim: end - start}
	for i := range s.N {
		copy(out.Row(i), s.Row(i)[start:end])
	}
	return out
}

// norm is the Euclidean length of a vector.
func norm(row []float32) float64 {
	sum := 0.0
	for _, x := range row {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// meanNorm is the mean Euclidean length of the rows.
func (s Latents) meanNorm() float64 {
	total := 0.0
	for i := range s.N {
		total += norm(s.Row(i))
	}
	return total / float64(max(1, s.N))
}

// spread is the standard deviation over all elements.
func (s Latents) spread() float64 {
	var sum, square float64
	for _, x := range s.Rows {
		sum += float64(x)
		square += float64(x) * float64(x)
	}
	n := float64(max(1, len(s.Rows)))
	return math.Sqrt(max(0, square/n-(sum/n)*(sum/n)))
}

// subtractNearest replaces each row by its residual: the row minus its nearest
// code.
func (s Latents) subtractNearest(codes *weights.Array) error {
	search, err := index.NewCodes(codes.Data, codes.Shape[0], s.Dim)
	if err != nil {
		return err
	}
	chosen := make([]uint32, s.N)
	search.Nearest(s.Rows, s.N, chosen, nil, 0)
	for i, code := range chosen {
		row := s.Row(i)
		for j, x := range codes.Row(int(code)) {
			row[j] -= x
		}
	}
	return nil
}

// normalise scales every row to unit length.
func (s Latents) normalise() {
	for i := range s.N {
		row := s.Row(i)
		if length := norm(row); length > 0 {
			for j := range row {
				row[j] = float32(float64(row[j]) / length)
			}
		}
	}
}
