package vq

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/weights"
)

// Curve projects latents onto the curves through the codes of [SpaceFillingDiVeQ], as the
// method's inference was published. A projection is a point between two codes: it takes
// more bits than a code, and is a score beside that of the codes, not one of them.
type Curve struct {
	layout Layout
	books  []*weights.Array // of every position
}

// NewCurve returns the curves of a quantizer with the given codebooks; nil for other methods.
func NewCurve(q Quantizer, books []*weights.Array) *Curve {
	var s *stack
	switch q := q.(type) {
	case *Residual:
		s = &q.stack
	case *Product:
		s = &q.stack
	default:
		return nil
	}
	if _, ok := s.levels[0].(curve); !ok || len(books) != s.layout.Positions() {
		return nil
	}
	return &Curve{layout: s.layout, books: books}
}

// curveRows are projected at once: their products with all codes stay small.
const curveRows = 64

// Project maps latents [n,d] to the sums of the nearest points of the curves of the
// leading levels (0: all), each for what the levels before left over.
func (c *Curve) Project(z []float32, n, levels, workers int) []float32 {
	if levels == 0 {
		levels = c.layout.Levels
	}
	d, out := c.layout.Dim, make([]float32, len(z))
	_ = parallel.Each((n+curveRows-1)/curveRows, workers, func(block int) error {
		first, end := block*curveRows, min(n, (block+1)*curveRows)
		for part := range c.layout.Parts {
			from, to := c.layout.Bounds(part)
			rest := Latents{Rows: z[first*d : end*d], N: end - first, Dim: d}.Slice(from, to).clone()
			for level := range levels {
				points := nearestOnCurve(rest, rowsOf(c.books[part*c.layout.Levels+level]))
				for i := range rest.N {
					sum := out[(first+i)*d+from : (first+i)*d+to]
					for j, x := range points.Row(i) {
						sum[j] += x
						rest.Row(i)[j] -= x
					}
				}
			}
		}
		return nil
	})
	return out
}

// nearestOnCurve returns the point of the curve through the corners that is nearest to
// each row.
func nearestOnCurve(rows, corners Latents) Latents {
	k, d := corners.N, corners.Dim
	products := make([]float32, rows.N*k) // <z, c>
	general := func(s Latents) blas32.General {
		return blas32.General{Rows: s.N, Cols: s.Dim, Stride: s.Dim, Data: s.Rows}
	}
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, general(rows), general(corners), 0, general(Latents{Rows: products, N: rows.N, Dim: k}))
	squares, next := make([]float64, k), make([]float64, k) // |c_j|², <c_j, c_j+1>
	for j := range k {
		squares[j] = inner(corners.Row(j), corners.Row(j))
		if j+1 < k {
			next[j] = inner(corners.Row(j), corners.Row(j+1))
		}
	}
	out := Latents{Rows: make([]float32, len(rows.Rows)), N: rows.N, Dim: d}
	for i := range rows.N {
		own, best, at, share := products[i*k:(i+1)*k], math.Inf(1), 0, 0.0
		for j := range k - 1 {
			a, b := float64(own[j]), float64(own[j+1])
			along, length := b-a-next[j]+squares[j], squares[j+1]+squares[j]-2*next[j] // <z-a, b-a>, |b-a|²
			t := 0.0
			if length > 0 {
				t = min(1, max(0, along/length))
			}
			if distance := squares[j] - 2*a - 2*t*along + t*t*length; distance < best { // less |z|²
				best, at, share = distance, j, t
			}
		}
		from, to := corners.Row(at), corners.Row(at+1)
		for j := range d {
			out.Row(i)[j] = float32((1-share)*float64(from[j]) + share*float64(to[j]))
		}
	}
	return out
}

func inner(a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}
