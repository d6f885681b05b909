package index

import (
	"math"
	"math/bits"
	"runtime"
	"slices"
)

// Search finds the k nearest rows for each query of x [n,d], as [RowIndex] does: their
// numbers go to items [n,k], best first and of equal ones the lowest, and unless scores
// is nil their squared distances, rounded from float64, to scores [n,k].
func (l *Lookup) Search(x []float32, n, k int, items []uint32, scores []float32, opt SearchOptions) {
	d := l.Dim()
	checkSearch("Lookup.Search", x, n, d, k, items, scores)
	workers := opt.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	// Few queries share the rows among the workers instead.
	groups := (n + lookupQueries - 1) / lookupQueries
	segments := max(1, min((workers+groups-1)/max(1, groups), l.n/blockRows))
	lists := make([][]found, groups*lookupQueries*segments)
	each(groups*segments, workers, func(task int) {
		group, segment := task/segments, task%segments
		first, last := group*lookupQueries, min((group+1)*lookupQueries, n)
		from, to := segment*l.n/segments, (segment+1)*l.n/segments
		for i, list := range l.searchGroup(x[first*d:last*d], last-first, min(k, max(1, to-from)), from, to) {
			lists[(first+i)*segments+segment] = list
		}
	})
	each(n, workers, func(i int) {
		list := slices.Concat(lists[i*segments : (i+1)*segments]...)
		Euclidean.writeFound(list, items[i*k:(i+1)*k], slice(scores, i*k, (i+1)*k))
	})
}

// searchGroup returns the candidates of up to lookupQueries queries among the rows
// from..to; the k best are among them.
func (l *Lookup) searchGroup(x []float32, n, k, from, to int) [][]found {
	g, d, rows := l.newGroup(x, n), l.Dim(), l.decoder()
	lists, found := make([]shortlist, n), make([][]found, n)
	exhaustive := make([]bool, n) // scores are of no use
	for q := range n {
		query := x[q*d : (q+1)*d]
		margin, ok := l.margin(math.Sqrt(Dot(query, query)))
		lists[q].reset(rows, query, k, margin)
		if exhaustive[q] = !ok; ok { // then the query is finite
			g.limits[q] = lists[q].limit
		}
	}
	half := l.half[:to]
	for row, below := l.rows.scan(g, from, half); below != 0; row, below = l.rows.scan(g, row+1, half) {
		for ; below != 0; below &= below - 1 {
			q := bits.TrailingZeros32(below)
			lists[q].offer(g.scores[q], uint32(row))
			g.limits[q] = lists[q].limit
		}
	}
	for q := range lists {
		query := x[q*d : (q+1)*d]
		switch {
		case !exhaustive[q]:
			found[q] = lists[q].finish(nil)
		case finite(query):
			for row := from; row < to; row++ {
				found[q] = append(found[q], rows.measure(query, uint32(row)))
			}
		}
	}
	return found
}

// newGroup computes the tables of n queries. Limits admit no row yet.
func (l *Lookup) newGroup(x []float32, n int) *lookupGroup {
	last := l.books[len(l.books)-1]
	g := &lookupGroup{tables: make([]float32, last.start+last.codes.k*lookupQueries)}
	for q := range g.limits {
		g.limits[q] = float32(math.Inf(-1))
	}
	var products, part []float32
	for _, b := range l.books {
		g.starts = append(g.starts, b.start)
		d, k := b.codes.d, b.codes.k
		part, products = resized(part, n*d), resized(products, n*k)
		for q := range n {
			copy(part[q*d:(q+1)*d], x[q*l.Dim()+b.from:])
		}
		Products(part, n, b.codes.rows, k, d, products)
		for q := range n {
			for c, v := range products[q*k : (q+1)*k] {
				g.tables[b.start+c*lookupQueries+q] = -v
			}
		}
	}
	return g
}
