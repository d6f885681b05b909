package index

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
)

// KMeansInit chooses the first centres of KMeans.
type KMeansInit int

const (
	// InitAuto is InitPlusPlus up to 64 centres, InitParallel up to 4,096, else InitTree.
	InitAuto KMeansInit = iota
	// InitPlusPlus draws one centre a pass with probability proportional to the squared
	// distance from those already drawn (k-means++, Arthur and Vassilvitskii 2007).
	InitPlusPlus
	// InitParallel draws about k/2 candidates in each of five passes and reduces
	// them by weighted k-means++ (k-means||, Bahmani et al. 2012).
	InitParallel
	// InitSample takes k rows at random.
	InitSample
	// InitTree clusters the rows around sqrt(k) centres and then every group on its
	// own: about n sqrt(k) distances an iteration instead of n k.
	InitTree
)

// KMeansOptions tunes KMeans. The zero value is a sensible choice.
type KMeansOptions struct {
	Seed       uint64
	Iterations int        // largest number of updates of the centres; 0 means 25
	Tolerance  float64    // stop when the error falls by less than this fraction; 0 means 1e-4, negative never
	Workers    int        // goroutines; <= 0 means GOMAXPROCS
	Init       KMeansInit // how to choose the first centres
	Start      []float32  // [k,d] first centres, in place of Init unless nil
	// Watch, unless nil, is called after every assignment with the number of updates
	// done and the sum of squared distances of the rows from their centres.
	Watch func(updates int, total float64)
}

// KMeans clusters the rows of x [n,d] around k centres by Lloyd's iteration. It
// returns the centres [k,d] and the number of rows of each, [k]. The result does not
// depend on Workers.
//
// A centre without rows moves to the farthest row of the cluster of largest error.
// If x has fewer than k distinct rows, each becomes a centre and the surplus centres
// are copies with a count of 0.
//
// It fails if a size is not positive, x does not hold n*d finite numbers, an option
// is out of range, or ctx ends first.
func KMeans(ctx context.Context, x []float32, n, d, k int, opt KMeansOptions) (centers []float32, counts []int, err error) {
	if err := checkMatrix("k-means data", x, n, d); err != nil {
		return nil, nil, err
	}
	if k <= 0 {
		return nil, nil, fmt.Errorf("k-means needs at least one centre, got %d", k)
	}
	if opt.Iterations < 0 || opt.Init < InitAuto || opt.Init > InitTree {
		return nil, nil, fmt.Errorf("k-means options are out of range: %d iterations, initialisation %d", opt.Iterations, opt.Init)
	}
	task := clustering{x, n, d, k, opt.Workers}
	opt.Iterations = cmp.Or(opt.Iterations, 25)
	opt.Tolerance = cmp.Or(opt.Tolerance, 1e-4)
	if opt.Start != nil {
		if err := checkMatrix("k-means start", opt.Start, k, d); err != nil {
			return nil, nil, err
		}
		centers = slices.Clone(opt.Start)
	} else {
		start := &seeding{task, rand.New(rand.NewPCG(opt.Seed, 0x6b6d65616e73))}
		if centers, err = start.centers(ctx, opt.Init); err != nil {
			return nil, nil, err
		}
	}
	l := &lloyd{task, centers, make([]uint32, n), make([]float32, n), make([]int, k)}
	var before float64
	for i := 0; ; i++ {
		if err := ctx.Err(); err != nil {
			return nil, nil, fmt.Errorf("k-means stopped after %d iterations: %w", i, err)
		}
		after, err := l.assign(ctx)
		if err != nil {
			return nil, nil, err
		}
		if opt.Watch != nil {
			opt.Watch(i, after)
		}
		settled := i > 0 && before-after <= opt.Tolerance*before && !l.mustReseed()
		if i == opt.Iterations || after == 0 || settled {
			return l.centers, l.counts, nil
		}
		before = after
		l.reseed()
		l.update()
	}
}

// clustering is the task of k-means.
type clustering struct {
	x       []float32 // [n,d]
	n, d, k int
	workers int
}

type lloyd struct {
	clustering
	centers []float32 // [k,d]
	index   []uint32  // [n] nearest centre
	dist    []float32 // [n] squared distance from it
	counts  []int     // [k] rows of each centre
}

// assign finds the nearest centres and returns the sum of squared distances.
func (l *lloyd) assign(ctx context.Context) (float64, error) {
	codes, err := NewCodes(l.centers, l.k, l.d)
	if err != nil {
		return 0, fmt.Errorf("k-means left the range of float32, scale the data down: %w", err)
	}
	if err := codes.nearest(ctx, l.x, l.n, l.index, l.dist, l.workers); err != nil {
		return 0, fmt.Errorf("k-means stopped: %w", err)
	}
	clear(l.counts)
	var total float64
	for i, c := range l.index {
		l.counts[c]++
		total += float64(l.dist[i])
	}
	return total, nil
}

// mustReseed reports a centre without rows while some row is no centre.
func (l *lloyd) mustReseed() bool {
	return slices.Contains(l.counts, 0) && slices.ContainsFunc(l.dist, func(s float32) bool { return s > 0 })
}

// reseed gives every centre without rows the farthest row of the cluster of largest
// error. By distance alone, a few outliers would attract all idle centres.
func (l *lloyd) reseed() {
	var errors []float64
	for idle, count := range l.counts {
		if count > 0 {
			continue
		}
		if errors == nil {
			errors = make([]float64, l.k)
			for i, c := range l.index {
				errors[c] += float64(l.dist[i])
			}
		}
		donor := 0
		for c, e := range errors {
			if l.counts[c] > 1 && (e > errors[donor] || l.counts[donor] <= 1) {
				donor = c
			}
		}
		farthest := -1
		for i, c := range l.index {
			if int(c) == donor && l.counts[donor] > 1 && l.dist[i] > 0 && (farthest < 0 || l.dist[i] > l.dist[farthest]) {
				farthest = i
			}
		}
		if farthest < 0 {
			return // every row is a centre, or about to become one
		}
		errors[donor] -= float64(l.dist[farthest])
		l.counts[donor]--
		l.counts[idle] = 1
		l.index[farthest], l.dist[farthest] = uint32(idle), 0
	}
}

// update moves every centre that has rows to their mean. One goroutine takes each
// sum, in the order of the rows.
func (l *lloyd) update() {
	sums := make([]float64, l.k*l.d)
	forBlocks(l.k, l.k, l.workers, func(from, to int) {
		for i, c := range l.index {
			if int(c) < from || int(c) >= to {
				continue
			}
			sum := sums[int(c)*l.d : (int(c)+1)*l.d]
			for j, v := range l.x[i*l.d : (i+1)*l.d] {
				sum[j] += float64(v)
			}
		}
		for c := from; c < to; c++ {
			if l.counts[c] == 0 {
				continue
			}
			for j := c * l.d; j < (c+1)*l.d; j++ {
				l.centers[j] = float32(sums[j] / float64(l.counts[c]))
			}
		}
	})
}
