package index

import (
	"math"
	"sync"
)

// Exact finds the k best rows by looking at all of them. Float32 kernels propose and
// costs in float64 decide, as for Codes, so every machine gives one answer. It keeps
// every row twice: as given, and packed for the kernels.
type Exact struct {
	collection
	space  space
	packed panels
}

// NewExact copies and packs rows [n,d]. It fails if a size is not positive, rows does
// not hold n*d finite numbers, or the metric does not exist.
func NewExact(metric Metric, rows []float32, n, d int) (*Exact, error) {
	return newExactWith(bestKernel, metric, rows, n, d)
}

func newExactWith(kern kernel, metric Metric, rows []float32, n, d int) (*Exact, error) {
	if err := metric.check(); err != nil {
		return nil, err
	}
	if err := checkMatrix("rows to search", rows, n, d); err != nil {
		return nil, err
	}
	e := &Exact{collection: collection{metric: metric, d: d, stride: d}, space: newSpace(kern, metric, rows, n, d)}
	if err := e.Add(rows, n); err != nil {
		return nil, err
	}
	return e, nil
}

// Add appends rows [n,d]. It fails, changing nothing, if a size is not positive or
// rows does not hold n*d finite numbers.
func (e *Exact) Add(rows []float32, n int) error {
	if err := e.appendRows(rows, n); err != nil {
		return err
	}
	e.packed.grow(n, e.d)
	for i := e.n - n; i < e.n; i++ {
		e.space.pack(&e.packed, e.Row(i))
	}
	return nil
}

// Search finds the k best rows for each query: see RowIndex.
func (e *Exact) Search(x []float32, n, k int, items []uint32, scores []float32, opt SearchOptions) {
	checkSearch("Exact.Search", x, n, e.d, k, items, scores)
	forBlocks(n, blockRows, opt.Workers, func(from, to int) {
		b := takeQueryBlock(&e.collection, &e.space, x[from*e.d:to*e.d], to-from, min(k, e.n))
		defer b.release()
		b.rows = b.rows[:0]
		for i := range b.lists {
			b.rows = append(b.rows, b.query(i))
		}
		groups := b.pack(b.rows)
		for p := range len(e.packed.half) / panelCodes {
			for g, group := range groups {
				lists := b.members[g*groupRows : min((g+1)*groupRows, to-from)]
				e.space.scan(&e.packed, p, group, lists, nil, &b.scores)
			}
		}
		b.write(k, items[from*k:to*k], slice(scores, from*k, to*k), func(_ int, visit func(item uint32)) {
			for i := range e.n {
				visit(uint32(i))
			}
		})
	})
}

type queryBlock struct {
	from      *collection
	x         []float32 // [queries,d]
	moved     []float32 // [queries,d] as space.prepare leaves them
	lists     []shortlist
	members   []*shortlist // [queries]
	undecided []bool       // [queries] scores are of no use
	rows      [][]float32  // queries of a group
	groups    []float32    // [groups,d,groupRows]
	parts     [][]float32  // the groups, one by one
	best      []found
	scores    [groupRows * panelCodes]float32
	probes    probeMemory
}

var queryBlockPool = sync.Pool{New: func() any { return new(queryBlock) }}

func takeQueryBlock(from *collection, space *space, x []float32, queries, k int) *queryBlock {
	b := queryBlockPool.Get().(*queryBlock)
	d := from.d
	b.from, b.x = from, x
	b.moved = resized(b.moved, queries*d)
	b.lists = resized(b.lists, queries)
	b.members = resized(b.members, queries)
	b.undecided = resized(b.undecided, queries)
	for i := range queries {
		query := x[i*d : (i+1)*d]
		margin, ok := space.prepare(query, b.query(i))
		b.lists[i].reset(from, query, k, margin)
		b.members[i], b.undecided[i] = &b.lists[i], !ok
		if !ok {
			b.lists[i].limit = float32(math.Inf(-1))
		}
	}
	return b
}

func (b *queryBlock) release() {
	b.from, b.x = nil, nil
	for i := range b.lists {
		b.lists[i].from, b.lists[i].query = nil, nil
	}
	queryBlockPool.Put(b)
}

func (b *queryBlock) query(i int) []float32 {
	d := b.from.d
	return b.moved[i*d : (i+1)*d]
}

// pack interleaves prepared queries in groups [d,groupRows]; the last group is filled
// up with its last query.
func (b *queryBlock) pack(queries [][]float32) [][]float32 {
	size := b.from.d * groupRows
	count := (len(queries) + groupRows - 1) / groupRows
	b.groups = resized(b.groups, count*size)
	b.parts = b.parts[:0]
	for g := range count {
		group := b.groups[g*size : (g+1)*size]
		for r := range groupRows {
			for j, v := range queries[min(g*groupRows+r, len(queries)-1)] {
				group[j*groupRows+r] = v
			}
		}
		b.parts = append(b.parts, group)
	}
	return b.parts
}

// write ends the search. Undecided queries are compared with the rows that each visits.
func (b *queryBlock) write(k int, items []uint32, scores []float32, each func(query int, visit func(item uint32))) {
	d := b.from.d
	for i := range b.lists {
		query := b.x[i*d : (i+1)*d]
		b.best = b.best[:0]
		switch {
		case !b.undecided[i]:
			b.best = b.lists[i].finish(b.best)
		case finite(query):
			each(i, func(item uint32) { b.best = append(b.best, b.from.measure(query, item)) })
		}
		b.from.metric.writeFound(b.best, items[i*k:(i+1)*k], slice(scores, i*k, (i+1)*k))
	}
}
