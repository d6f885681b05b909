package tokenizer

import (
	"math"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"
	"gonum.org/v1/gonum/mat"
)

// patchSample bounds the squares that principal components are taken of: a number per value of a square, at least.
const patchesPerValue, leastPatches = 16, 8192

// exactSide is the number of values of a square up to which all components are computed; of larger squares, the leading
// ones are iterated.
const exactSide = 1024

// leastVariance is far below that of squares with two different values.
const leastVariance = 1e-10

// patchMap is the linear path between squares of pixels x [values] and latents z [d]: the principal components of the
// squares, divided by one scale that gives the latents unit spread.
//
//	z = Vᵀ(x - mean) / scale,  x = V z·scale + mean
//
// Components beyond the values of a square are zero.
type patchMap struct {
	mean       []float64  // [values]
	components *mat.Dense // V [values, d]
	scale      float64
}

// fitPatchMap finds the components of the squares in rows of a standardized picture's values.
func fitPatchMap(rows *mat.Dense, dim int, rng *rand.Rand) patchMap {
	n, values := rows.Dims()
	m := patchMap{mean: make([]float64, values), components: mat.NewDense(values, dim, nil), scale: 1}
	for i := range n {
		for j, x := range rows.RawRowView(i) {
			m.mean[j] += x / float64(n)
		}
	}
	for i := range n {
		for j := range m.mean {
			rows.RawRowView(i)[j] -= m.mean[j]
		}
	}
	covariance := mat.NewSymDense(values, nil)
	covariance.SymOuterK(1/float64(n), rows.T())
	axes, variances := leadingAxes(covariance, min(dim, values), rng)
	total := 0.0
	for j, variance := range variances {
		total += max(0, variance) / float64(len(variances))
		m.components.SetCol(j, axes[j])
	}
	if total > leastVariance { // more than rounding
		m.scale = math.Sqrt(total)
	}
	return m
}

// leadingAxes returns k orthonormal eigenvectors with the largest eigenvalues, in falling order.
func leadingAxes(covariance *mat.SymDense, k int, rng *rand.Rand) (axes [][]float64, variances []float64) {
	n := covariance.SymmetricDim()
	var basis *mat.Dense // its span holds the leading vectors
	within := covariance
	if n > exactSide && k < n/2 {
		basis = dominantSpace(covariance, min(n, k+k/4+8), rng)
		var image, small mat.Dense
		image.Mul(covariance, basis)
		small.Mul(basis.T(), &image)
		size, _ := small.Dims()
		within = mat.NewSymDense(size, nil)
		for i := range size {
			for j := i; j < size; j++ {
				within.SetSym(i, j, (small.At(i, j)+small.At(j, i))/2)
			}
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(within, true) {
		panic("tokenizer: the principal components of patches were not found")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	if basis != nil {
		var full mat.Dense
		full.Mul(basis, &vectors)
		vectors = full
	}
	values := eigen.Values(nil) // rising
	for j := range k {
		at := len(values) - 1 - j
		axes = append(axes, orient(mat.Col(nil, at, &vectors)))
		variances = append(variances, values[at])
	}
	return axes, variances
}

// dominantSpace iterates an orthonormal basis [n, k] of nearly the k leading eigenvectors.
func dominantSpace(covariance *mat.SymDense, k int, rng *rand.Rand) *mat.Dense {
	n := covariance.SymmetricDim()
	space := mat.NewDense(n, k, nil)
	for i := range space.RawMatrix().Data {
		space.RawMatrix().Data[i] = rng.NormFloat64()
	}
	for range 8 {
		var image mat.Dense
		image.Mul(covariance, space)
		var qr mat.QR
		qr.Factorize(&image)
		var q mat.Dense
		qr.QTo(&q)
		space.Copy(q.Slice(0, n, 0, k))
	}
	return space
}

// orient makes the largest component of an axis positive, so that equal data give equal maps.
func orient(axis []float64) []float64 {
	largest := 0.0
	for _, x := range axis {
		if math.Abs(x) > math.Abs(largest) {
			largest = x
		}
	}
	if largest < 0 {
		for i := range axis {
			axis[i] = -axis[i]
		}
	}
	return axis
}

// fill writes the map into the variables "encoder/linear" and "decoder/linear" of a network.
func (m patchMap) fill(set weights.Set) {
	values, dim := m.components.Dims()
	in, out := set["encoder/linear/weights"], set["decoder/linear/weights"].Data[4*dim*values:] // the tap in the middle
	shift := set["encoder/linear/bias"]
	for i := range values {
		for j := range dim {
			v := m.components.At(i, j)
			in.Data[i*dim+j], out[j*values+i] = float32(v/m.scale), float32(v*m.scale)
		}
	}
	for j := range dim {
		shift.Data[j] = float32(-mat.Dot(m.components.ColView(j), mat.NewVecDense(values, m.mean)) / m.scale)
	}
	for i, x := range m.mean {
		set["decoder/linear/bias"].Data[i] = float32(x)
	}
}
