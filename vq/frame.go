package vq

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/weights"
)

// balancedFrame returns the principal directions as columns: the next largest goes to
// the part with the smallest product of variances that has room.
func (s Latents) balancedFrame(layout Layout) (*mat.Dense, error) {
	d := s.Dim
	center := make([]float64, d)
	for i, x := range s.Rows {
		center[i%d] += float64(x) / float64(s.N)
	}
	covariance := mat.NewSymDense(d, nil)
	block := mat.NewDense(min(s.N, 1024), d, nil)
	for from := 0; from < s.N; from += 1024 {
		n := min(1024, s.N-from)
		part := block.Slice(0, n, 0, d).(*mat.Dense)
		for i := range n {
			row := part.RawRowView(i)
			for j, x := range s.Row(from + i) {
				row[j] = float64(x) - center[j]
			}
		}
		covariance.SymRankK(covariance, 1/float64(s.N), part.T())
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return nil, fmt.Errorf("the principal directions of the vectors did not converge; use method pq")
	}
	var directions mat.Dense
	eigen.VectorsTo(&directions)
	variances := eigen.Values(nil)
	order := make([]int, d)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(variances[b], variances[a]) })
	product, next := make([]float64, layout.Parts), make([]int, layout.Parts) // product in logarithms
	for part := range next {
		next[part], _ = layout.Bounds(part)
	}
	frame := mat.NewDense(d, d, nil)
	least := max(variances[order[d-1]], 1e-12*variances[order[0]], math.SmallestNonzeroFloat32)
	for _, from := range order {
		best := -1
		for part := range product {
			if _, end := layout.Bounds(part); next[part] < end && (best < 0 || product[part] < product[best]) {
				best = part
			}
		}
		for i := range d {
			frame.Set(i, next[best], directions.At(i, from))
		}
		next[best]++
		product[best] += math.Log(max(variances[from], least) / least) // never negative
	}
	return frame, nil
}

// orthogonalFactor returns U Vᵀ for m = U Σ Vᵀ, the orthogonal matrix closest to m.
func orthogonalFactor(m *mat.Dense) (*mat.Dense, error) {
	if factor := newtonPolar(m); factor != nil {
		return factor, nil
	}
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDFull) {
		return nil, fmt.Errorf("the rotation did not converge; use method pq")
	}
	var u, v, factor mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	factor.Mul(&u, v.T())
	return &factor, nil
}

// newtonPolar iterates X ← (γX + X⁻ᵀ/γ)/2 (Higham 1986), several times as fast as the
// singular value decomposition; nil when m is too close to singular.
func newtonPolar(m *mat.Dense) *mat.Dense {
	d, _ := m.Dims()
	x := mat.DenseCopyOf(m)
	var inverse, next mat.Dense
	for range 40 {
		if err := inverse.Inverse(x); err != nil {
			return nil
		}
		scale := math.Sqrt(mat.Norm(&inverse, 2) / mat.Norm(x, 2)) // Frobenius norms
		if !(scale > 0) || math.IsInf(scale, 0) {
			return nil
		}
		next.Scale(scale/2, x)
		inverse.Scale(1/(2*scale), &inverse)
		next.Add(&next, inverse.T())
		var moved mat.Dense
		moved.Sub(&next, x)
		x.Copy(&next)
		if mat.Norm(&moved, 2) < 1e-10*math.Sqrt(float64(d)) {
			return x
		}
	}
	return nil
}

func (s Latents) rotate(rotation *weights.Array) Latents {
	out := Latents{Rows: make([]float32, len(s.Rows)), N: s.N, Dim: s.Dim, ctx: s.ctx}
	view := func(rows int, data []float32) blas32.General {
		return blas32.General{Rows: rows, Cols: s.Dim, Stride: s.Dim, Data: data}
	}
	blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, view(s.N, s.Rows), view(s.Dim, rotation.Data), 0, view(s.N, out.Rows))
	return out
}
