package index

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
)

// IVFOptions tunes NewIVF. The zero value is a sensible choice.
type IVFOptions struct {
	Lists      int // 0 means the square root of the number of rows
	Probe      int // lists a search looks into by default; 0 means an eighth of them
	Seed       uint64
	Iterations int // of k-means; 0 means 10
	Workers    int // goroutines while building; <= 0 means GOMAXPROCS
}

// sampleRows is the number of rows a list that k-means is trained on at most.
const sampleRows = 256

// IVF finds the best rows of a collection by looking only into the lists whose
// centres are best for the query: an inverted file. Within those lists the
// search is exact, so looking into all of them gives the answer of Exact.
//
// The centres come from k-means, and a row belongs to the list whose centre is
// best for it. For InnerProduct the centres are scaled to unit length: rows
// are then told apart by direction, where otherwise the lists of the longest
// centres would attract most of them.
//
// Queries that arrive together share the work: each list is scanned once for
// all the queries of a block that look into it. The index depends on the rows,
// their order and the options, but not on Workers.
type IVF struct {
	collection
	space   space
	probe   int
	centers *Exact     // one a list
	list    []uint32   // [n] list of each row
	lists   []panels   // rows of each list, packed
	members [][]uint32 // their numbers, rising
}

// NewIVF clusters rows [n,d] into lists by k-means and copies them. It fails if
// a size is not positive, rows does not hold n*d finite numbers, an option is
// out of range, or ctx ends first.
func NewIVF(ctx context.Context, metric Metric, rows []float32, n, d int, opt IVFOptions) (*IVF, error) {
	if err := metric.check(); err != nil {
		return nil, err
	}
	if err := checkMatrix("rows to search", rows, n, d); err != nil {
		return nil, err
	}
	if opt.Lists == 0 {
		opt.Lists = max(1, int(math.Sqrt(float64(n))))
	}
	if opt.Probe == 0 {
		opt.Probe = (opt.Lists + 7) / 8
	}
	if opt.Iterations == 0 {
		opt.Iterations = 10
	}
	if opt.Lists < 0 || opt.Lists > n || opt.Probe < 0 || opt.Iterations < 0 {
		return nil, fmt.Errorf("IVF options are out of range: %d lists of %d rows, %d to look into, %d iterations",
			opt.Lists, n, opt.Probe, opt.Iterations)
	}
	sample, taken := sampleOf(rows, n, d, opt.Lists*sampleRows, opt.Seed)
	centers, _, err := KMeans(ctx, sample, taken, d, opt.Lists, KMeansOptions{
		Seed: opt.Seed, Iterations: opt.Iterations, Workers: opt.Workers,
	})
	if err != nil {
		return nil, err
	}
	if metric == InnerProduct {
		scaleToUnit(centers, opt.Lists, d)
	}
	f, err := newIVFWith(bestKernel, metric, centers, opt.Lists, d, opt.Probe)
	if err != nil {
		return nil, err
	}
	f.space = newSpace(bestKernel, metric, rows, n, d)
	if err := f.add(rows, n, opt.Workers); err != nil {
		return nil, err
	}
	return f, nil
}

// scaleToUnit divides the rows of x [n,d] by their lengths; zero rows stay.
func scaleToUnit(x []float32, n, d int) {
	for i := range n {
		row := x[i*d : (i+1)*d]
		length := math.Sqrt(Dot(row, row))
		if length == 0 {
			continue
		}
		for j, v := range row {
			row[j] = float32(float64(v) / length)
		}
	}
}

// newIVFWith returns an IVF without rows; its space is not set.
func newIVFWith(kern kernel, metric Metric, centers []float32, lists, d, probe int) (*IVF, error) {
	f := &IVF{
		collection: collection{metric: metric, d: d, stride: d}, probe: probe,
		lists: make([]panels, lists), members: make([][]uint32, lists),
	}
	var err error
	if f.centers, err = newExactWith(kern, metric, centers, lists, d); err != nil {
		return nil, err
	}
	return f, nil
}

// sampleOf returns at most limit of the rows, chosen at random, and how many.
func sampleOf(rows []float32, n, d, limit int, seed uint64) ([]float32, int) {
	if n <= limit {
		return rows, n
	}
	sample := make([]float32, 0, limit*d)
	for _, i := range rand.New(rand.NewPCG(seed, 0x697666)).Perm(n)[:limit] {
		sample = append(sample, rows[i*d:(i+1)*d]...)
	}
	return sample, limit
}

// Add appends rows [n,d] to the lists whose centres are best for them. The
// centres stay: rows unlike those the index was made from call for a new one. It
// fails, leaving the index as it was, if a size is not positive or rows does
// not hold n*d finite numbers.
func (f *IVF) Add(rows []float32, n int) error { return f.add(rows, n, 0) }

func (f *IVF) add(rows []float32, n, workers int) error {
	if err := f.appendRows(rows, n); err != nil {
		return err
	}
	assigned := make([]uint32, n)
	f.centers.Search(rows, n, 1, assigned, nil, SearchOptions{Workers: workers})
	f.file(assigned)
	return nil
}

// file puts the rows that have no list yet into the given lists.
func (f *IVF) file(assigned []uint32) {
	counts := make([]int, len(f.lists))
	for _, list := range assigned {
		counts[list]++
	}
	for list, n := range counts {
		f.lists[list].grow(n, f.d)
	}
	for _, list := range assigned {
		item := len(f.list)
		f.list = append(f.list, list)
		f.members[list] = append(f.members[list], uint32(item))
		f.space.pack(&f.lists[list], f.Row(item))
	}
}
