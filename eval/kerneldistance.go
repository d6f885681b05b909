package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

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

// KernelDistance returns the kernel distance of Binkowski et al. (2018) between
// feature vectors a [n, d] and b [m, d]: the unbiased estimate of the squared
// maximum mean discrepancy under the kernel (x·y/d + 1)^3, averaged over random
// subsets drawn without replacement. Unlike the Frechet distance its expectation
// does not depend on the number of vectors, so it suits small sets; for sets of
// one distribution it is 0 on average, and as often below as above. The same
// arguments give the same score.
//
// It fails on parts of a vector, on fewer than two vectors, on values that are
// not finite and when ctx ends.
func KernelDistance(ctx context.Context, a, b []float32, d int, o KernelOptions) (KernelScore, error) {
	if d < 1 || len(a)%d != 0 || len(b)%d != 0 {
		return KernelScore{}, fmt.Errorf("%d and %d values are not whole feature vectors of dimension %d", len(a), len(b), d)
	}
	if o.Subsets < 0 || o.SubsetSize < 0 || o.SubsetSize == 1 {
		return KernelScore{}, fmt.Errorf("a kernel distance over %d subsets of %d vectors is not defined: use 1 subset of 2 or more, or 0 for the defaults", o.Subsets, o.SubsetSize)
	}
	n, m := len(a)/d, len(b)/d
	size := min(n, m, defaulted(o.SubsetSize, 1000))
	if size < 2 {
		return KernelScore{}, fmt.Errorf("a kernel distance needs at least 2 feature vectors a set, not %d and %d", n, m)
	}
	x, xFinite := widen("KernelDistance", a, n, d)
	y, yFinite := widen("KernelDistance", b, m, d)
	if !xFinite || !yFinite {
		return KernelScore{}, errors.New("a feature is not a finite number: check the pictures and the network")
	}
	subsets := defaulted(o.Subsets, 100)
	if size == n && size == m {
		subsets = 1 // all would be the same
	}
	random := rand.New(rand.NewPCG(o.Seed, 0))
	distances := make([]float64, subsets)
	for i := range distances {
		if err := ctx.Err(); err != nil {
			return KernelScore{}, err
		}
		distances[i] = discrepancy(draw(random, x, n, size, d), draw(random, y, m, size, d))
	}
	return meanAndStd(distances), nil
}

func defaulted(value, otherwise int) int {
	if value == 0 {
		return otherwise
	}
	return value
}

// draw returns size of the n rows, without replacement.
func draw(random *rand.Rand, rows []float64, n, size, d int) *mat.Dense {
	if size == n {
		return mat.NewDense(n, d, rows)
	}
	chosen := make([]float64, 0, size*d)
	for _, row := range random.Perm(n)[:size] {
		chosen = append(chosen, rows[row*d:(row+1)*d]...)
	}
	return mat.NewDense(size, d, chosen)
}

// discrepancy is the unbiased estimate from x and y, both [size, d]: the mean
// kernel within each, pairs of a vector with itself left out, less twice the
// mean kernel between them.
func discrepancy(x, y *mat.Dense) float64 {
	size, d := x.Dims()
	var between mat.Dense
	between.Mul(x, y.T())
	sum := 0.0
	for i := range size {
		for _, product := range between.RawRowView(i) {
			sum += cubicKernel(product, d)
		}
	}
	count := float64(size)
	return (pairSum(x)+pairSum(y))/(count*(count-1)) - 2*sum/(count*count)
}

// pairSum adds the kernel of all ordered pairs of different rows of x [n, d].
func pairSum(x *mat.Dense) float64 {
	n, d := x.Dims()
	products := mat.NewSymDense(n, nil)
	products.SymOuterK(1, x)
	sum := 0.0
	for i := range n {
		for j := i + 1; j < n; j++ {
			sum += 2 * cubicKernel(products.At(i, j), d)
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
