package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Metric says which rows are best for a query.
type Metric uint8

const (
	// Euclidean prefers the smallest squared distance |x - c|^2.
	Euclidean Metric = iota
	// InnerProduct prefers the largest <x,c>, the cosine of rows of unit length.
	InnerProduct
)

// String names the metric.
func (m Metric) String() string {
	switch m {
	case Euclidean:
		return "euclidean"
	case InnerProduct:
		return "inner product"
	}
	return fmt.Sprintf("metric %d", uint8(m))
}

func (m Metric) check() error {
	if m > InnerProduct {
		return fmt.Errorf("%v does not exist: use Euclidean or InnerProduct", m)
	}
	return nil
}

// cost is minimised by a search: |a - b|^2 or -<a,b>, the same on every machine.
func (m Metric) cost(a, b []float32) float64 {
	if m == InnerProduct {
		return -Dot(a, b)
	}
	return SquaredDistance(a, b)
}

// score is the number a caller sees for a cost.
func (m Metric) score(cost float64) float32 {
	if m == InnerProduct {
		return float32(-cost)
	}
	return float32(cost)
}

// Dot is <a,b> in float64 for a and b of equal length. Four partial sums in a fixed
// order and exact products give every machine one result.
func Dot(a, b []float32) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		p, q := (*[4]float32)(a[i:]), (*[4]float32)(b[i:])
		s0 += float64(p[0]) * float64(q[0])
		s1 += float64(p[1]) * float64(q[1])
		s2 += float64(p[2]) * float64(q[2])
		s3 += float64(p[3]) * float64(q[3])
	}
	for ; i < len(a); i++ {
		s0 += float64(a[i]) * float64(b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// Missing stands for an item that was not found.
const Missing = math.MaxUint32

// SearchOptions tunes a search. The zero value is a sensible choice.
type SearchOptions struct {
	// Effort trades time for recall: the lists that IVF looks into, the length of the
	// list that HNSW keeps. 0 means the index's own default. Exact ignores it.
	Effort  int
	Workers int // goroutines that share the queries; <= 0 means GOMAXPROCS; results do not depend on it
}

// RowIndex finds the best rows for queries: an Exact, an IVF or an HNSW. Searches may
// run concurrently, but not while rows are added.
type RowIndex interface {
	// Len is the number of rows; they are numbered from 0 in order of arrival.
	Len() int
	// Dim is the length of a row.
	Dim() int
	// Row returns row i, [d], which the caller must not modify.
	Row(i int) []float32
	// Add appends rows [n,d], which are copied.
	Add(rows []float32, n int) error
	// Search finds the k best rows for each query of x [n,d], best first and of equal
	// ones the lowest. It writes their numbers to items [n,k] and, unless scores is nil,
	// their squared distances or inner products, rounded from float64, to scores [n,k].
	// Where fewer are found, and for a query with a NaN or an infinity, the rest is
	// Missing with the worst score, +Inf or -Inf. It panics if k is not positive or a
	// slice is too short.
	Search(x []float32, n, k int, items []uint32, scores []float32, opt SearchOptions)
}

func checkSearch(name string, x []float32, n, d, k int, items []uint32, scores []float32) {
	if n < 0 || k <= 0 || len(x) < n*d || len(items) < n*k || scores != nil && len(scores) < n*k {
		panic(fmt.Sprintf("index: %s of the %d best rows for %d queries of %d got slices of length %d (x), %d (items), %d (scores)",
			name, k, n, d, len(x), len(items), len(scores)))
	}
}

func finite(x []float32) bool {
	return !slices.ContainsFunc(x, func(v float32) bool { return v-v != 0 })
}

type found struct {
	cost float64
	item uint32
}

func compareFound(a, b found) int {
	return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.item, b.item))
}

// writeFound sorts list and writes its first len(items) entries.
func (m Metric) writeFound(list []found, items []uint32, scores []float32) {
	slices.SortFunc(list, compareFound)
	for i := range items {
		best := found{math.Inf(1), Missing}
		if i < len(list) {
			best = list[i]
		}
		items[i] = best.item
		if scores != nil {
			scores[i] = m.score(best.cost)
		}
	}
}

// sortable maps a float32 to a uint32 of the same order; a NaN comes last.
func sortable(v float32) uint32 {
	bits := math.Float32bits(v)
	switch {
	case v != v:
		return math.MaxUint32
	case bits>>31 == 1:
		return ^bits
	}
	return bits | 1<<31
}

func fromSortable(u uint32) float32 {
	if u>>31 == 1 {
		return math.Float32frombits(u &^ (1 << 31))
	}
	return math.Float32frombits(^u)
}

// Kinds lists the indexes that New makes: one that looks at all rows, at the lists
// nearest to the query, or along a graph of neighbours.
var Kinds = []string{"exact", "ivf", "hnsw"}

// New puts rows [n, d] into an index of a kind with its default options; an empty
// kind is exact.
func New(ctx context.Context, kind string, metric Metric, rows []float32, n, d int) (RowIndex, error) {
	switch kind {
	case "", "exact":
		return NewExact(metric, rows, n, d)
	case "ivf":
		return NewIVF(ctx, metric, rows, n, d, IVFOptions{})
	case "hnsw":
		return NewHNSW(ctx, metric, rows, n, d, HNSWOptions{})
	}
	return nil, fmt.Errorf("there is no index %q: use %s", kind, strings.Join(Kinds, ", "))
}
