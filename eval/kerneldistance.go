package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// KernelOptions says over which subsets a kernel distance is averaged.
type KernelOptions struct {
	Subsets    int // 0 means 100
	SubsetSize int // vectors drawn from each set; 0 means 1000, and never more than the smaller set has
	Seed       uint64
}

// KernelScore is a squared kernel distance, averaged over subsets.
type KernelScore struct {
	Mean float64
	Std  float64 // over subsets; 0 where every subset is the whole of both sets
}

// KernelDistance returns the kernel distance of Binkowski et al. (2018) between feature
// vectors a [n, d] and b [m, d]: the unbiased estimate of the squared maximum mean
// discrepancy under the kernel (x·y/d + 1)^3, averaged over random subsets drawn without
// replacement. Its expectation does not depend on the number of vectors, so it suits
// small sets; for sets of one distribution it is 0. Equal arguments give equal scores.
//
// It fails on parts of a vector, on fewer than two vectors, on values that are not finite
// and when ctx ends.
func KernelDistance(ctx context.Context, a, b []float32, d int, o KernelOptions) (KernelScore, error) {
	if d < 1 || len(a)%d != 0 || len(b)%d != 0 {
		return KernelScore{}, fmt.Errorf("%d and %d values are not whole feature vectors of dimension %d", len(a), len(b), d)
	}
	if o.Subsets < 0 || o.SubsetSize < 0 || o.SubsetSize == 1 {
		return KernelScore{}, fmt.Errorf("a kernel distance over %d subsets of %d vectors is not defined: use 1 subset of 2 or more, or 0 for "+
			"the defaults", o.Subsets, o.SubsetSize)
	}
	n, m := len(a)/d, len(b)/d
	size := min(n, m, cmp.Or(o.SubsetSize, 1000))
	if size < 2 {
		return KernelScore{}, fmt.Errorf("a kernel distance needs at least 2 feature vectors a set, not %d and %d", n, m)
	}
	x, xFinite := widen("KernelDistance", a, n, d)
	y, yFinite := widen("KernelDistance", b, m, d)
	if !xFinite || !yFinite {
		return KernelScore{}, errors.New("a feature is not a finite number: check the pictures and the network")
	}
	subsets := cmp.Or(o.Subsets, 100)
	if size == n && size == m {
		subsets = 1 // all would be the same
	}
	all := make([]int, size)
	for i := range all {
		all[i] = i
	}
	estimate := func(i, j []int) float64 { return newKernels(take(x, d, i), take(y, d, j)).discrepancy(all, all) }
	if n*n+m*m+n*m <= maxKernels && subsets > 1 {
		estimate = newKernels(mat.NewDense(n, d, x), mat.NewDense(m, d, y)).discrepancy
	}
	random := rand.New(rand.NewPCG(o.Seed, 0))
	distances := make([]float64, subsets)
	for k := range distances {
		if err := ctx.Err(); err != nil {
			return KernelScore{}, err
		}
		distances[k] = estimate(random.Perm(n)[:size], random.Perm(m)[:size])
	}
	return meanAndStd(distances), nil
}

func take(values []float64, d int, rows []int) *mat.Dense {
	chosen := make([]float64, 0, len(rows)*d)
	for _, row := range rows {
		chosen = append(chosen, values[row*d:(row+1)*d]...)
	}
	return mat.NewDense(len(rows), d, chosen)
}

// maxKernels bounds the kernels kept at once, to 256 MB: two sets of 4729 vectors. Where
// all pairs fit, overlapping subsets need no work of their own.
const maxKernels = 1 << 26

// kernels holds the kernel of all pairs of rows of x [n, d] and y [m, d], computed in
// float64; the rounding vanishes in their mean.
type kernels struct {
	n, m    int
	withinX []float32 // [n, n], above the diagonal
	withinY []float32 // [m, m], above the diagonal
	between []float32 // [n, m]
}

func newKernels(x, y *mat.Dense) *kernels {
	n, d := x.Dims()
	m, _ := y.Dims()
	k := &kernels{n: n, m: m, withinX: pairKernels(x), withinY: pairKernels(y), between: make([]float32, 0, n*m)}
	var products mat.Dense
	products.Mul(x, y.T())
	for i := range n {
		for _, product := range products.RawRowView(i) {
			k.between = append(k.between, float32(cubicKernel(product, d)))
		}
	}
	return k
}

// pairKernels returns the kernel of each pair of rows of x [n, d], at [i, j] for i < j.
func pairKernels(x *mat.Dense) []float32 {
	n, d := x.Dims()
	products := mat.NewSymDense(n, nil)
	products.SymOuterK(1, x)
	values := make([]float32, n*n)
	for i := range n {
		for j := i + 1; j < n; j++ {
			values[i*n+j] = float32(cubicKernel(products.At(i, j), d))
		}
	}
	return values
}

// discrepancy is the unbiased estimate from equally many rows of x and y: the mean kernel
// within each, pairs of a row with itself left out, less twice the mean between them.
func (k *kernels) discrepancy(x, y []int) float64 {
	between := 0.0
	for _, i := range x {
		row := k.between[i*k.m : (i+1)*k.m]
		for _, j := range y {
			between += float64(row[j])
		}
	}
	size := float64(len(x))
	within := pairSum(k.withinX, k.n, x) + pairSum(k.withinY, k.m, y)
	return 2*within/(size*(size-1)) - 2*between/(size*size)
}

func pairSum(values []float32, n int, rows []int) float64 {
	rows = slices.Sorted(slices.Values(rows))
	sum := 0.0
	for k, i := range rows {
		row := values[i*n : (i+1)*n]
		for _, j := range rows[k+1:] {
			sum += float64(row[j])
		}
	}
	return sum
}

// cubicKernel is (x·y/d + 1)^3.
func cubicKernel(product float64, d int) float64 {
	base := product/float64(d) + 1
	return base * base * base
}

func meanAndStd(values []float64) KernelScore {
	var score KernelScore
	for _, value := range values {
		score.Mean += value / float64(len(values))
	}
	square := 0.0
	for _, value := range values {
		square += (value - score.Mean) * (value - score.Mean)
	}
	score.Std = math.Sqrt(square / float64(len(values)))
	return score
}
