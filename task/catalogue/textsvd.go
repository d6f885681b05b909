package catalogue

import (
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Randomized decomposition (Halko, Martinsson and Tropp 2011).
const (
	svdOversample = 10
	svdPasses     = 2
)

type sparse struct {
	columns int
	starts  []int // [rows+1] in terms
	terms   []term
}

func (m *sparse) rows() int { return len(m.starts) - 1 }

func (m *sparse) times(x blas64.General) blas64.General {
	y := general(m.rows(), x.Cols)
	for row := range m.rows() {
		out := y.Data[row*y.Stride : row*y.Stride+y.Cols]
		for _, t := range m.terms[m.starts[row]:m.starts[row+1]] {
			for j, v := range x.Data[int(t.column)*x.Stride:][:x.Cols] {
				out[j] += t.weight * v
			}
		}
	}
	return y
}

// transposedTimes returns m' x for x [rows, k].
func (m *sparse) transposedTimes(x blas64.General) blas64.General {
	y := general(m.columns, x.Cols)
	for row := range m.rows() {
		in := x.Data[row*x.Stride : row*x.Stride+x.Cols]
		for _, t := range m.terms[m.starts[row]:m.starts[row+1]] {
			out := y.Data[int(t.column)*y.Stride:][:y.Cols]
			for j, v := range in {
				out[j] += t.weight * v
			}
		}
	}
	return y
}

func general(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

// rightSingularVectors returns the dim right singular vectors with the largest singular values as [columns,
// dim], each with a positive largest component. Directions that m does not span are 0.
func rightSingularVectors(m *sparse, dim int) ([]float64, error) {
	k := min(dim+svdOversample, m.rows(), m.columns)
	random := rand.New(rand.NewPCG(0, 0))
	sample := general(m.columns, k)
	for i := range sample.Data {
		sample.Data[i] = random.NormFloat64()
	}
	basis := m.times(sample) // [rows, k], converges to the span of the first left singular vectors
	orthonormal(basis)
	for range svdPasses {
		right := m.transposedTimes(basis)
		orthonormal(right)
		basis = m.times(right)
		orthonormal(basis)
	}
	// With B = basis' m, the eigenvectors of B B' turn the rows of B into singular vectors times singular values.
	projected := m.transposedTimes(basis) // B', [columns, k]
	gram := mat.NewSymDense(k, nil)
	blas64.Syrk(blas.Trans, 1, projected, 0, gram.RawSymmetric())
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return nil, errors.New("the decomposition of the texts did not converge")
	}
	values := eigen.Values(nil) // ascending
	var turn mat.Dense
	eigen.VectorsTo(&turn)
	singular := general(m.columns, k)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, projected, turn.RawMatrix(), 0, singular)
	axes := make([]float64, m.columns*dim)
	for j := range min(dim, k) {
		from := k - 1 - j
		if values[from] <= 1e-12*values[k-1] {
			break
		}
		scale, largest := 1/math.Sqrt(values[from]), 0.0
		for row := range m.columns {
			if x := singular.Data[row*k+from]; math.Abs(x) > math.Abs(largest) {
				largest = x
			}
		}
		scale = math.Copysign(scale, largest)
		for row := range m.columns {
			axes[row*dim+j] = scale * singular.Data[row*k+from]
		}
	}
	return axes, nil
}

// orthonormal replaces a [n, k], n >= k, by an orthonormal basis of its span.
func orthonormal(a blas64.General) {
	tau := make([]float64, a.Cols)
	work := make([]float64, 1)
	lapack64.Geqrf(a, tau, work, -1)
	work = make([]float64, int(work[0]))
	lapack64.Geqrf(a, tau, work, len(work))
	lapack64.Orgqr(a, tau, work, -1)
	work = make([]float64, max(len(work), int(work[0])))
	lapack64.Orgqr(a, tau, work, len(work))
}
