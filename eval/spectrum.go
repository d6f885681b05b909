package eval

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// EffectiveRank returns the effective rank of rows [k, d] (Roy and Vetterli, 2007): exp
// of the entropy of the singular values divided by their sum. It lies between 1, all rows
// on one line through the origin, and min(k, d), all directions alike; it is 0 where all
// rows are zero and NaN where a value is not finite. Singular values below about 1e-7 of
// the largest, lost in the d x d Gram matrix, count as zero. It panics unless rows has
// k*d values.
func EffectiveRank(rows []float32, k, d int) float64 {
	values, finite := widen("EffectiveRank", rows, k, d)
	if !finite {
		return math.NaN()
	}
	if len(values) == 0 {
		return 0
	}
	gram := mat.NewSymDense(d, nil)
	gram.SymOuterK(1, mat.NewDense(k, d, values).T())
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, false) {
		return math.NaN()
	}
	squares := eigen.Values(nil)
	largest := squares[len(squares)-1] // ascending
	noise := largest * float64(max(k, d)) * 0x1p-52
	sum := 0.0
	singulars := make([]float64, len(squares))
	for i, square := range squares {
		if square > noise {
			singulars[i] = math.Sqrt(square)
			sum += singulars[i]
		}
	}
	if sum == 0 {
		return 0
	}
	nats := 0.0
	for _, singular := range singulars {
		if p := singular / sum; p > 0 {
			nats -= p * math.Log(p)
		}
	}
	return math.Exp(nats)
}

// SpectralNorm returns the largest singular value of the matrix m [d, d]; NaN where a
// value is not finite and 0 where d is 0. It panics unless m has d*d values.
func SpectralNorm(m []float32, d int) float64 {
	return singularValues("SpectralNorm", m, d)[0] // descending
}

// SingularRange returns the largest and the smallest singular value of the matrix m
// [d, d], under the conditions of SpectralNorm. The smallest is 0, up to rounding, for a
// matrix without an inverse.
func SingularRange(m []float32, d int) (largest, smallest float64) {
	values := singularValues("SingularRange", m, d)
	return values[0], values[len(values)-1]
}

func singularValues(caller string, m []float32, d int) []float64 {
	values, finite := widen(caller, m, d, d)
	if d == 0 {
		return []float64{0}
	}
	var svd mat.SVD
	if !finite || !svd.Factorize(mat.NewDense(d, d, values), mat.SVDNone) {
		return []float64{math.NaN()}
	}
	return svd.Values(nil)
}

// widen returns values [k, d] as float64 and whether all are finite. It panics, naming
// the caller, when the length is wrong.
func widen(caller string, values []float32, k, d int) (wide []float64, finite bool) {
	if k < 0 || d < 0 || len(values) != k*d {
		panic(fmt.Sprintf("eval.%s: %d values are not %d rows of %d", caller, len(values), k, d))
	}
	wide = make([]float64, len(values))
	finite = true
	for i, value := range values {
		wide[i] = float64(value)
		finite = finite && !math.IsNaN(wide[i]) && !math.IsInf(wide[i], 0)
	}
	return wide, finite
}

const (
	exactDistanceRows   = 4096
	sampledDistanceRows = 1024
)

// MinPairwiseDistance returns the smallest Euclidean distance between two of the rows
// [k, d]. Above k = 4096, 1024 rows drawn with a fixed seed are compared with all others:
// an upper bound, the same in every run. It is +Inf for fewer than two rows and NaN where
// a value is not finite; it panics unless rows has k*d values.
func MinPairwiseDistance(rows []float32, k, d int) float64 {
	values, finite := widen("MinPairwiseDistance", rows, k, d)
	if !finite {
		return math.NaN()
	}
	nearest := math.Inf(1)
	if k <= exactDistanceRows {
		for i := range k {
			for j := range i {
				nearest = closer(values[i*d:(i+1)*d], values[j*d:(j+1)*d], nearest)
			}
		}
		return math.Sqrt(nearest)
	}
	random := rand.New(rand.NewPCG(0, 0))
	for _, i := range random.Perm(k)[:sampledDistanceRows] {
		for j := range k {
			if i != j {
				nearest = closer(values[i*d:(i+1)*d], values[j*d:(j+1)*d], nearest)
			}
		}
	}
	return math.Sqrt(nearest)
}

// closer returns the smaller of |a - b|^2 and limit; it stops reading at the limit.
func closer(a, b []float64, limit float64) float64 {
	const stride = 16
	sum := 0.0
	for len(a) > stride {
		head, other := a[:stride], b[:stride]
		for i, value := range head {
			sum += (value - other[i]) * (value - other[i])
		}
		if sum >= limit {
			return limit
		}
		a, b = a[stride:], b[stride:]
	}
	for i, value := range a {
		sum += (value - b[i]) * (value - b[i])
	}
	return min(sum, limit)
}
