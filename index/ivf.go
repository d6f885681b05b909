package index

import (
	"cmp"
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

const (
	sampleRows = 256 // rows a list that k-means is trained on at most
	ivfBlock   = 512 // queries searched together: enough for one list to fill groups
)

// IVF is an inverted file: it looks only into the lists whose centres are best for
// the query. Within them the search is exact, so looking into all of them gives the
// answer of Exact.
//
// A row belongs to the list of its best k-means centre. For InnerProduct the centres
// have unit length; otherwise the longest would attract most rows.
//
// Each list is scanned once for all queries of a block that look into it. The index
// depends on the rows, their order and the options, but not on Workers.
type IVF struct {
	collection
	space   space
	probe   int
	centers *Exact     // one a list
	lists   []panels   // rows of each list, packed
	members [][]uint32 // their numbers, rising
}

// NewIVF clusters rows [n,d] into lists and copies them. It fails if a size is not
// positive, rows does not hold n*d finite numbers, an option is out of range, or ctx
// ends first.
func NewIVF(ctx context.Context, metric Metric, rows []float32, n, d int, opt IVFOptions) (*IVF, error) {
	if err := metric.check(); err != nil {
		return nil, err
	}
	if err := checkMatrix("rows to search", rows, n, d); err != nil {
		return nil, err
	}
	opt.Lists = cmp.Or(opt.Lists, max(1, int(math.Sqrt(float64(n)))))
	opt.Probe = cmp.Or(opt.Probe, (opt.Lists+7)/8)
	opt.Iterations = cmp.Or(opt.Iterations, 10)
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
	f := &IVF{
		collection: collection{metric: metric, d: d, stride: d}, space: newSpace(bestKernel, metric, rows, n, d),
		probe: opt.Probe, lists: make([]panels, opt.Lists), members: make([][]uint32, opt.Lists),
	}
	if f.centers, err = NewExact(metric, centers, opt.Lists, d); err != nil {
		return nil, err
	}
	if err := f.add(rows, n, opt.Workers); err != nil {
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

// Add appends rows [n,d] to the lists of their best centres, which stay: rows unlike
// the first ones call for a new index. It fails, changing nothing, if a size is not
// positive or rows does not hold n*d finite numbers.
func (f *IVF) Add(rows []float32, n int) error { return f.add(rows, n, 0) }

func (f *IVF) add(rows []float32, n, workers int) error {
	if err := f.appendRows(rows, n); err != nil {
		return err
	}
	assigned := make([]uint32, n)
	f.centers.Search(rows, n, 1, assigned, nil, SearchOptions{Workers: workers})
	counts := make([]int, len(f.lists))
	for _, list := range assigned {
		counts[list]++
	}
	for list, n := range counts {
		f.lists[list].grow(n, f.d)
	}
	for i, list := range assigned {
		item := f.n - n + i
		f.members[list] = append(f.members[list], uint32(item))
		f.space.pack(&f.lists[list], f.Row(item))
	}
	return nil
}
