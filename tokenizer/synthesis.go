package tokenizer

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/weights"
	"gonum.org/v1/gonum/mat"
)

// Bounds of the fit of the decoder's linear path.
const (
	// neighbourDims bounds the leading dimensions of neighbouring cells that a square depends on.
	neighbourDims = 64
	// cellsPerFeature keeps the error of the fit's own randomness below 3 % of the residual's.
	cellsPerFeature = 40
	// leastSynthesis pictures differ enough from each other.
	leastSynthesis = 128
	// synthesisRidge is the weight of the distance from the map of squares alone, and mostRidge the largest, which few cells need.
	synthesisRidge, mostRidge = 1e-3, 1e4
	// synthesisChunk rows of features are held at a time.
	synthesisChunk = 4096
)

// synthesis fits the linear path of the decoder to quantized latents: a square depends on the latents of its cell and of
// the eight around it,
//
//	x = Σ_(i,j) z[y+i, x+j] W_(i,j) + b,
//
// which takes away the edges between cells. W minimises the squared error over cells of training pictures, and stays near
// the principal components, which depend on the cell alone: the fewer cells, the nearer.
type synthesis struct {
	network   pictureNetwork
	own, near int // leading dimensions of the cell and of its neighbours
}

func newSynthesis(n pictureNetwork) synthesis {
	own := min(n.dim, n.values())
	return synthesis{network: n, own: own, near: min(own, neighbourDims)}
}

// features is the number of values that a square depends on; the last is the bias.
func (s synthesis) features() int { return s.own + 8*s.near + 1 }

// dims is the number of leading dimensions of a tap of the 3 x 3 kernel.
func (s synthesis) dims(tap int) int {
	if tap == 4 {
		return s.own
	}
	return s.near
}

// row fills in the features of a cell of a picture; latents [cells, d] are those of the picture. Cells outside are zero.
func (s synthesis) row(into []float64, latents []float32, cell int) {
	grid, dim, at := s.network.grid, s.network.dim, 0
	for tap := range 9 {
		y, x, n := cell/grid+tap/3-1, cell%grid+tap%3-1, s.dims(tap)
		inside := y >= 0 && y < grid && x >= 0 && x < grid
		for j := range n {
			into[at+j] = 0
			if inside {
				into[at+j] = float64(latents[(y*grid+x)*dim+j])
			}
		}
		at += n
	}
	into[at] = 1
}

// fit changes "decoder/linear" in set.
func (s synthesis) fit(set weights.Set, pictures dataset.Batch, latents []float32, rng *rand.Rand) error {
	kernel, bias := set["decoder/linear/weights"], set["decoder/linear/bias"]
	features, values, cells := s.features(), s.network.values(), s.network.grid*s.network.grid
	first := s.read(kernel, bias)
	gram, right := mat.NewDense(features, features, nil), mat.NewDense(features, values, nil)
	chosen := rng.Perm(pictures.N * cells)
	chosen = chosen[:min(len(chosen), cellsPerFeature*features)]
	square := 0.0 // mean squared length of what the map of squares alone leaves of a cell
	for start := 0; start < len(chosen); start += synthesisChunk {
		part := chosen[start:min(len(chosen), start+synthesisChunk)]
		x, target := mat.NewDense(len(part), features, nil), mat.NewDense(len(part), values, nil)
		for i, cell := range part {
			picture := cell / cells
			s.row(x.RawRowView(i), latents[picture*cells*s.network.dim:(picture+1)*cells*s.network.dim], cell%cells)
			s.network.square(target.RawRowView(i), pictures, cell)
		}
		var product mat.Dense
		product.Mul(x, first)
		target.Sub(target, &product)
		for _, left := range target.RawMatrix().Data {
			square += left * left / float64(len(chosen))
		}
		var g, r mat.Dense
		g.Mul(x.T(), x)
		r.Mul(x.T(), target)
		gram.Add(gram, &g)
		right.Add(right, &r)
	}
	system := mat.NewSymDense(features, nil)
	for i := range features {
		for j := i; j < features; j++ {
			system.SetSym(i, j, gram.At(i, j)/float64(len(chosen)))
		}
	}
	right.Scale(1/float64(len(chosen)), right)
	ridge := synthesisRidge
	if n := len(chosen); n < cellsPerFeature*features {
		ridge = crossValidated(system, right, square, n)
	}
	for i := range features {
		system.SetSym(i, i, system.At(i, i)+ridge)
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(system) {
		return errors.New("the linear path of the decoder could not be fitted: latents are not finite")
	}
	var change mat.Dense
	if err := cholesky.SolveTo(&change, right); err != nil && !errors.As(err, new(mat.Condition)) {
		return err
	}
	change.Add(&change, first)
	s.write(&change, kernel, bias)
	return nil
}

// crossValidated returns the power of ten with the least generalised cross-validation error (Golub, Heath and Wahba 1979) of
// a ridge regression of n cells, error/(1 - df/n)² with its effective number df of features, given the means over cells of
// xᵀx, xᵀy and y².
func crossValidated(gram *mat.SymDense, right *mat.Dense, square float64, n int) float64 {
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return synthesisRidge // the caller finds out what is wrong
	}
	var axes, along mat.Dense
	eigen.VectorsTo(&axes)
	along.Mul(axes.T(), right)
	best, least := synthesisRidge, math.Inf(1)
	for ridge := synthesisRidge; ridge <= mostRidge; ridge *= 10 {
		left, free := square, 1.0
		for i, variance := range eigen.Values(nil) {
			variance = max(0, variance) // but for rounding
			row := along.RawRowView(i)
			left -= mat.Dot(mat.NewVecDense(len(row), row), mat.NewVecDense(len(row), row)) * (variance + 2*ridge) /
				((variance + ridge) * (variance + ridge))
			free -= variance / (variance + ridge) / float64(n)
		}
		if e := left / (free * free); free > 0 && e < least {
			best, least = ridge, e
		}
	}
	return best
}

// at lists the kernel's row of every feature but the bias.
func (s synthesis) at() (rows []int) {
	for tap := range 9 {
		for j := range s.dims(tap) {
			rows = append(rows, tap*s.network.dim+j)
		}
	}
	return rows
}

// read returns kernel [3,3,d,values] and bias [values] as a matrix [features, values].
func (s synthesis) read(kernel, bias *weights.Array) *mat.Dense {
	values := s.network.values()
	m := mat.NewDense(s.features(), values, nil)
	for i, row := range s.at() {
		for j := range values {
			m.Set(i, j, float64(kernel.Data[row*values+j]))
		}
	}
	for j, x := range bias.Data {
		m.Set(s.features()-1, j, float64(x))
	}
	return m
}

// write is the inverse of read.
func (s synthesis) write(m *mat.Dense, kernel, bias *weights.Array) {
	values := s.network.values()
	for i, row := range s.at() {
		for j := range values {
			kernel.Data[row*values+j] = float32(m.At(i, j))
		}
	}
	for j := range bias.Data {
		bias.Data[j] = float32(m.At(s.features()-1, j))
	}
}
