// Package lowrank finds the largest singular values and vectors of sparse matrices, such as words of titles or items that
// users take together.
package lowrank

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
	oversample = 10
	passes     = 2
)

// RightVectors returns the dim right singular vectors of m with the largest singular values, as [columns, dim], each with a
// positive largest component, and the values, descending. Directions that m does not span are 0. The result depends on m and dim
// alone; other processors may round differently. It needs memory for about 5 matrices of (rows + columns) x dim numbers of 8 bytes.
func RightVectors(m *Sparse, dim int) (vectors, values []float64, err error) {
	values, vectors = make([]float64, dim), make([]float64, m.columns*dim)
	k := min(dim+oversample, m.Rows(), m.columns)
	if k == 0 {
		return vectors, values, nil
	}
	random := rand.New(rand.NewPCG(0, 0))
	sample := general(m.columns, k)
	for i := range sample.Data {
		sample.Data[i] = random.NormFloat64()
	}
	transposed := m.transpose()
	basis := m.times(sample) // [rows, k], converges to the span of the first left singular vectors
	orthonormal(basis)
	for range passes {
		right := transposed.times(basis)
		orthonormal(right)
		basis = m.times(right)
		orthonormal(basis)
	}
	// With B = basis' m, the eigenvectors of B B' turn the rows of B into singular vectors times singular values.
	projected := transposed.times(basis) // B', [columns, k]
	gram := mat.NewSymDense(k, nil)
	blas64.Syrk(blas.Trans, 1, projected, 0, gram.RawSymmetric())
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return nil, nil, errors.New("the singular value decomposition did not converge")
	}
	squares := eigen.Values(nil) // ascending
	var turn mat.Dense
	eigen.VectorsTo(&turn)
	singular := general(m.columns, k)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, projected, turn.RawMatrix(), 0, singular)
	for j := range min(dim, k) {
		from := k - 1 - j
		if squares[from] <= 1e-12*squares[k-1] {
			break
		}
		values[j] = math.Sqrt(squares[from])
		largest := 0.0
		for row := range m.columns {
			if x := singular.Data[row*k+from]; math.Abs(x) > math.Abs(largest) {
				largest = x
			}
		}
		scale := math.Copysign(1/values[j], largest)
		for row := range m.columns {
			vectors[row*dim+j] = scale * singular.Data[row*k+from]
		}
	}
	return vectors, values, nil
}

func general(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
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
