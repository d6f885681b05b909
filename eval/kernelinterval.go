package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/parallel"
)

// IntervalOptions say how a kernel distance is resampled.
type IntervalOptions struct {
	Resamples int // 0 means 1000
	Seed      uint64
}

// KernelInterval is a kernel distance and its 95 % bootstrap interval over vectors.
type KernelInterval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// kernelBlock is the number of vectors whose kernels are in memory at a time.
const kernelBlock = 512

// KernelDistanceInterval returns the kernel distance of feature vectors a [n, d] and b
// [m, d] over all pairs: the estimate whose mean over subsets [KernelDistance] returns.
// Sets of one distribution have a distance of 0 in expectation, whatever their size;
// estimates may be negative.
//
// The interval is that of the percentile bootstrap: vectors of both sets are drawn with
// replacement and pairs are weighted by multiplicity, w_i w_j k(x_i, x_j) over the sum of
// w_i w_j, for i ≠ j only. A plain resample would count a vector that is drawn twice as a
// pair of different vectors with the kernel k(x, x), far above that of other pairs, and
// move every resample up by about (mean k(x, x) - mean k(x, y)) / n. For sets of one
// distribution the first-order term of the estimate vanishes, and the interval is wider
// than necessary.
//
// Equal arguments give equal results on one machine. Memory is that of the vectors and of
// one weight for each vector and resample. It fails on parts of a vector, on fewer than
// two vectors, on values that are not finite and when ctx ends.
func KernelDistanceInterval(ctx context.Context, a, b []float32, d int, o IntervalOptions) (KernelInterval, error) {
	if o.Resamples < 0 {
		return KernelInterval{}, fmt.Errorf("%d resamples are not possible: use 1 or more, or 0 for 1000", o.Resamples)
	}
	if err := featureRows(a, b, d, 2); err != nil {
		return KernelInterval{}, err
	}
	random := rand.New(rand.NewPCG(o.Seed, 1))
	resamples := cmp.Or(o.Resamples, 1000)
	x, y := newResampled(a, d, resamples, random), newResampled(b, d, resamples, random)
	distances, mean, err := x.distances(ctx, y)
	if err != nil {
		return KernelInterval{}, err
	}
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return KernelInterval{}, errors.New("the kernel of two feature vectors is beyond the range of numbers: check the network")
	}
	slices.Sort(distances)
	return KernelInterval{Mean: mean, Low: quantile(distances, 0.025), High: quantile(distances, 0.975)}, nil
}

// featureRows checks two sets of feature vectors of dimension d.
func featureRows(a, b []float32, d, least int) error {
	if d < 1 || len(a)%d != 0 || len(b)%d != 0 {
		return fmt.Errorf("%d and %d values are not whole feature vectors of dimension %d", len(a), len(b), d)
	}
	if n, m := len(a)/d, len(b)/d; min(n, m) < least {
		return fmt.Errorf("at least %d feature vectors a set are needed, not %d and %d", least, n, m)
	}
	for _, rows := range [][]float32{a, b} {
		for _, v := range rows {
			if v-v != 0 {
				return errors.New("a feature is not a finite number: check the pictures and the network")
			}
		}
	}
	return nil
}

func rowMean(rows []float32, d int) []float64 {
	mean := make([]float64, d)
	for i, v := range rows {
		mean[i%d] += float64(v) * float64(d) / float64(len(rows))
	}
	return mean
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// resampled is a set of vectors and how often every resample holds each of them.
type resampled struct {
	rows     []float32 // [n, d]
	n, d     int
	weights  [][]float32 // of a block: [resamples + 1, vectors]; the last row is all ones, the set itself
	size     []float64   // [resamples]: sum of w_i
	distinct []float64   // [resamples]: sum of w_i w_j over i ≠ j
}

// newResampled draws the resamples of rows [n, d].
func newResampled(rows []float32, d, resamples int, random *rand.Rand) *resampled {
	s := unweighted(rows, d, resamples)
	counts := make([]int, s.n)
	for r := range s.distinct {
		for s.distinct[r] == 0 { // one vector n times has no pair: draw again
			clear(counts)
			for range counts {
				counts[random.IntN(s.n)]++
			}
			s.weigh(r, counts)
		}
	}
	return s
}

func unweighted(rows []float32, d, resamples int) *resampled {
	s := &resampled{rows: rows, n: len(rows) / d, d: d, size: make([]float64, resamples), distinct: make([]float64, resamples)}
	for start := 0; start < s.n; start += kernelBlock {
		size := min(kernelBlock, s.n-start)
		block := make([]float32, (resamples+1)*size)
		for i := range size {
			block[resamples*size+i] = 1
		}
		s.weights = append(s.weights, block)
	}
	return s
}

// weigh sets how often resample r holds each vector.
func (s *resampled) weigh(r int, counts []int) {
	total, squares := 0, 0
	for i, w := range counts {
		block := s.weights[i/kernelBlock]
		block[r*(len(block)/(len(s.distinct)+1))+i%kernelBlock] = float32(w)
		total, squares = total+w, squares+w*w
	}
	s.size[r], s.distinct[r] = float64(total), float64(total*total-squares)
}

// distances returns the kernel distance of every resample and that of the sets.
func (s *resampled) distances(ctx context.Context, other *resampled) (resamples []float64, whole float64, err error) {
	// The distance does not change when a constant is subtracted from the kernel; sums
	// keep more digits with one near its mean.
	offset := cubicKernel(dot(rowMean(s.rows, s.d), rowMean(other.rows, s.d)), s.d)
	var sums [3][]float64 // within s, within other, between
	for i, pair := range [][2]*resampled{{s, s}, {other, other}, {s, other}} {
		if sums[i], err = pair[0].pairs(ctx, pair[1], offset); err != nil {
			return nil, 0, err
		}
	}
	resamples = make([]float64, len(s.distinct))
	n, m, last := float64(s.n), float64(other.n), len(resamples)
	for r := range resamples {
		resamples[r] = sums[0][r]/s.distinct[r] + sums[1][r]/other.distinct[r] - 2*sums[2][r]/(s.size[r]*other.size[r])
	}
	return resamples, sums[0][last]/(n*(n-1)) + sums[1][last]/(m*(m-1)) - 2*sums[2][last]/(n*m), nil
}

// block returns the vectors of block i and their number.
func (s *resampled) block(i int) ([]float32, int) {
	end := min((i+1)*kernelBlock, s.n)
	return s.rows[i*kernelBlock*s.d : end*s.d], end - i*kernelBlock
}

// pairs returns for every resample, and last for the sets themselves, the sum of
// w_i v_j (k(x_i, y_j) - offset) over all pairs; of one set with itself over i ≠ j.
func (s *resampled) pairs(ctx context.Context, other *resampled, offset float64) ([]float64, error) {
	type tile struct{ i, j int }
	var tiles []tile
	for i := range s.weights {
		for j := range other.weights {
			if s != other || j >= i {
				tiles = append(tiles, tile{i, j})
			}
		}
	}
	sums := make([][]float64, len(tiles))
	err := parallel.Each(len(tiles), 0, func(t int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		i, j := tiles[t].i, tiles[t].j
		x, n := s.block(i)
		y, m := other.block(j)
		kernels := make([]float32, n*m)
		index.Products(x, n, y, m, s.d, kernels)
		for k, product := range kernels {
			kernels[k] = float32(cubicKernel(float64(product), s.d) - offset)
		}
		times := 1.0
		if s == other && i == j {
			for k := range n {
				kernels[k*m+k] = 0
			}
		} else if s == other {
			times = 2
		}
		resamples := len(s.distinct) + 1
		weighted := make([]float32, resamples*n) // [resamples, n]: sum over j of v_j k_ij
		index.Products(other.weights[j], resamples, kernels, n, m, weighted)
		sums[t] = make([]float64, resamples)
		for r := range sums[t] {
			sums[t][r] = times * index.Dot(s.weights[i][r*n:(r+1)*n], weighted[r*n:(r+1)*n])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	total := make([]float64, len(s.distinct)+1)
	for _, sum := range sums { // in one order, so that equal arguments give equal sums
		for r, v := range sum {
			total[r] += v
		}
	}
	return total, nil
}
