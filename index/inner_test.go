package index

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var metrics = []Metric{Euclidean, InnerProduct}

// bruteTop is the definition of Exact.Search, with a plain loop and a sort.
func bruteTop(metric Metric, x, rows []float32, n, count, d, k int) (items []uint32, scores []float32) {
	for i := range n {
		order := make([]uint32, count)
		cost := make([]float64, count)
		for j := range count {
			order[j] = uint32(j)
			query, row := x[i*d:(i+1)*d], rows[j*d:(j+1)*d]
			if cost[j] = SquaredDistance(query, row); metric == InnerProduct {
				cost[j] = -Dot(query, row)
			}
		}
		slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(cost[a], cost[b]) })
		for j := range k {
			item, score := uint32(Missing), math.Inf(1)
			if j < count {
				item, score = order[j], cost[order[j]]
			}
			if metric == InnerProduct {
				score = -score
			}
			items, scores = append(items, item), append(scores, float32(score))
		}
	}
	return items, scores
}

// sameAnswer fails unless got and want agree; a zero may have either sign.
func sameAnswer(t *testing.T, items, wantItems []uint32, scores, wantScores []float32) {
	t.Helper()
	for i := range wantItems {
		if items[i] != wantItems[i] || scores != nil && scores[i] != wantScores[i] {
			t.Fatalf("place %d is row %d, want %d (scores %v and %v)", i, items[i], wantItems[i], scores, wantScores[i])
		}
	}
}

func TestExactMatchesDefinition(t *testing.T) {
	problems := append(hardProblems(), randomProblem(9, 1, 3), randomProblem(3, 31, 1), randomProblem(130, 33, 7), randomProblem(20, 1000, 16))
	same := problem{name: "one row many times", n: 9, k: 700, d: 5, x: normals(1, 9*5), rows: slices.Repeat(normals(2, 5), 700)}
	zero := problem{name: "zeros", n: 3, k: 200, d: 4, x: make([]float32, 12), rows: make([]float32, 800)}
	for _, kern := range supportedKernels() {
		for _, metric := range metrics {
			for _, p := range append(problems, same, zero) {
				t.Run(fmt.Sprintf("%s/%v/%s", kern.name, metric, p.name), func(t *testing.T) {
					exact, err := newExactWith(kern, metric, p.rows, p.k, p.d)
					if err != nil {
						t.Fatal(err)
					}
					for _, k := range []int{1, 4, 10, p.k + 3} {
						wantItems, wantScores := bruteTop(metric, p.x, p.rows, p.n, p.k, p.d, k)
						items, scores := make([]uint32, p.n*k), make([]float32, p.n*k)
						exact.Search(p.x, p.n, k, items, scores, SearchOptions{Workers: 2})
						sameAnswer(t, items, wantItems, scores, wantScores)
						clear(items)
						exact.Search(p.x, p.n, k, items, nil, SearchOptions{Workers: 1})
						sameAnswer(t, items, wantItems, nil, nil)
					}
				})
			}
		}
	}
}

func TestExactAddedInPieces(t *testing.T) {
	const n, d, k = 500, 12, 7
	rows, x := normals(1, n*d), normals(2, 40*d)
	for _, metric := range metrics {
		exact, err := NewExact(metric, rows[:3*d], 3, d)
		if err != nil {
			t.Fatal(err)
		}
		for from := 3; from < n; {
			count := min(1+from/2, n-from)
			if err := exact.Add(rows[from*d:(from+count)*d], count); err != nil {
				t.Fatal(err)
			}
			from += count
		}
		want, wantScores := bruteTop(metric, x, rows, 40, n, d, k)
		items, scores := make([]uint32, 40*k), make([]float32, 40*k)
		exact.Search(x, 40, k, items, scores, SearchOptions{})
		sameAnswer(t, items, want, scores, wantScores)
		if exact.Len() != n || exact.Dim() != d || exact.metric != metric || !slices.Equal(exact.Row(n-1), rows[(n-1)*d:]) {
			t.Errorf("%d rows of %d by %v", exact.Len(), exact.Dim(), exact.metric)
		}
		if err := exact.Add([]float32{1}, 1); err == nil || exact.Len() != n {
			t.Errorf("a short row was accepted: %v, %d rows", err, exact.Len())
		}
	}
}

func TestSearchOfNonFiniteQueries(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	rows := []float32{5, 5, 0, 0, 1, 1}
	exact, err := NewExact(Euclidean, rows, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	ivf, err := NewIVF(t.Context(), Euclidean, rows, 3, 2, IVFOptions{Lists: 2, Probe: 2})
	if err != nil {
		t.Fatal(err)
	}
	hnsw, err := NewHNSW(t.Context(), Euclidean, rows, 3, 2, HNSWOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []RowIndex{exact, ivf, hnsw} {
		items, scores := make([]uint32, 6), make([]float32, 6)
		s.Search([]float32{nan, 0, 1, 1, 0, -inf}, 3, 2, items, scores, SearchOptions{Workers: 1})
		if got := fmt.Sprint(items, scores); got != "[4294967295 4294967295 2 1 4294967295 4294967295] [+Inf +Inf 0 2 +Inf +Inf]" {
			t.Errorf("%T: %s", s, got)
		}
		mustPanic(t, "k of 0", func() { s.Search(nil, 0, 0, nil, nil, SearchOptions{}) })
		mustPanic(t, "a short result", func() { s.Search(rows, 3, 2, items[:5], nil, SearchOptions{}) })
		mustPanic(t, "a short list of scores", func() { s.Search(rows, 3, 2, items, scores[:5], SearchOptions{}) })
	}
}

func TestSearcherErrors(t *testing.T) {
	for name, build := range map[string]func(metric Metric, rows []float32, n, d int) error{
		"Exact": func(metric Metric, rows []float32, n, d int) error {
			_, err := NewExact(metric, rows, n, d)
			return err
		},
		"IVF": func(metric Metric, rows []float32, n, d int) error {
			_, err := NewIVF(t.Context(), metric, rows, n, d, IVFOptions{})
			return err
		},
		"HNSW": func(metric Metric, rows []float32, n, d int) error {
			_, err := NewHNSW(t.Context(), metric, rows, n, d, HNSWOptions{})
			return err
		},
	} {
		for want, err := range map[string]error{
			"metric 9 does not exist": build(9, make([]float32, 4), 2, 2),
			"must be positive":        build(Euclidean, nil, 0, 2),
			"has 3 numbers":           build(Euclidean, make([]float32, 3), 2, 2),
			"row 1, column 0 is NaN":  build(InnerProduct, []float32{1, 2, float32(math.NaN()), 4}, 2, 2),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one about %q", name, err, want)
			}
		}
	}
}

func TestDot(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 20 {
		a, b := make([]float32, n), make([]float32, n)
		var want int // small integers: every order of summation is exact
		for i := range a {
			p, q := rng.IntN(2001)-1000, rng.IntN(2001)-1000
			a[i], b[i] = float32(p), float32(q)
			want += p * q
		}
		if got := Dot(a, b); got != float64(want) {
			t.Errorf("Dot of %d numbers is %v, want %d", n, got, want)
		}
	}
}

func TestSortableKeepsOrder(t *testing.T) {
	values := []float32{float32(math.Inf(-1)), -math.MaxFloat32, -1, -math.SmallestNonzeroFloat32, 0, math.SmallestNonzeroFloat32, 1,
		math.MaxFloat32, float32(math.Inf(1))}
	for i, v := range values {
		if fromSortable(sortable(v)) != v {
			t.Errorf("%v comes back as %v", v, fromSortable(sortable(v)))
		}
		if i > 0 && sortable(values[i-1]) >= sortable(v) {
			t.Errorf("%v and %v lose their order", values[i-1], v)
		}
	}
	if sortable(float32(math.NaN())) <= sortable(float32(math.Inf(1))) {
		t.Error("a NaN does not come last")
	}
}

// The bound that exactness rests on holds, and is not so loose as to let most
// rows through: also for a query at the mean, where only |c|^2/2 is left.
func TestScoresAreWithinTheirMargin(t *testing.T) {
	const n, d = panelCodes, 96
	rows, x := normals(1, n*d), normals(2, groupRows*d)
	for _, kern := range supportedKernels() {
		for _, metric := range metrics {
			s := newSpace(kern, metric, rows, n, d)
			copy(x[:d], s.mean)
			var packed panels
			for i := range n {
				s.pack(&packed, rows[i*d:(i+1)*d])
			}
			queries, margins := make([][]float32, groupRows), make([]float64, groupRows)
			for r := range queries {
				queries[r] = make([]float32, d)
				margins[r], _ = s.prepare(x[r*d:(r+1)*d], queries[r])
			}
			scores := make([]float32, groupRows*n)
			groups := (&queryBlock{from: &collection{d: d}}).pack(queries)
			s.kernel.scores(packed.codes, packed.half, groups[0], scores, n)
			for r := range queries {
				worst := 0.0
				for j := range n {
					var want float64
					for l := range d {
						c, q := float64(rows[j*d+l])-float64(s.mean[l]), float64(x[r*d+l])-float64(s.mean[l])
						if want -= c * q; metric == Euclidean {
							want += c * c / 2
						}
					}
					worst = max(worst, math.Abs(float64(scores[r*n+j])-want))
				}
				if worst > margins[r] || margins[r] > 0.01 {
					t.Errorf("%s, %v, query %d: an error of %.3g, margin %.3g", kern.name, metric, r, worst, margins[r])
				}
			}
		}
	}
}

func TestShortlistOfEqualScoresStaysShort(t *testing.T) {
	const n, k = 10_000, 5
	rows := collection{d: 1, stride: 1, n: n, rows: make([]float32, n)}
	var list shortlist
	list.reset(&rows, []float32{0}, k, 0)
	size := cap(list.keys)
	for i := range n {
		list.offer(1, uint32(n-1-i)) // the lowest number last
	}
	if cap(list.keys) != size {
		t.Errorf("the list grew from %d to %d", size, cap(list.keys))
	}
	got := make([]uint32, k)
	Euclidean.writeFound(list.finish(nil), got, nil)
	if !slices.Equal(got, []uint32{0, 1, 2, 3, 4}) {
		t.Errorf("found %v", got)
	}
}

func TestPartition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		keys := make([]uint64, 1+rng.IntN(100))
		for i := range keys {
			keys[i] = rng.Uint64N(uint64(1 + rng.IntN(100)))
		}
		at := rng.IntN(len(keys))
		sorted := slices.Sorted(slices.Values(keys))
		partition(keys, at)
		if keys[at] != sorted[at] || at > 0 && slices.Max(keys[:at]) > keys[at] || slices.Min(keys[at:]) < keys[at] {
			t.Fatalf("place %d of %v", at, keys)
		}
	}
}

func TestRowKernelsAgreeToTheBit(t *testing.T) {
	const n = 13
	for _, d := range []int{1, 15, 16, 17, 48, 130} {
		stride := paddedTo(d)
		rows, query := make([]float32, n*stride), make([]float32, stride)
		copy(query, normals(1, d))
		for i := range n {
			copy(rows[i*stride:i*stride+d], normals(uint64(i+2), d))
		}
		for _, metric := range metrics {
			for count := range 10 {
				items := make([]uint32, count)
				for i := range items {
					items[i] = uint32(i * 7 % n)
				}
				want := make([]float32, count)
				portableRows.costs(metric)(query, rows, stride, items, want)
				for i, item := range items {
					cost := metric.cost(query, rows[int(item)*stride:int(item+1)*stride])
					if math.Abs(float64(want[i])-cost) > 1e-6*float64(d)*(1+math.Abs(cost)) {
						t.Fatalf("%v, d=%d: cost %v, want %v", metric, d, want[i], cost)
					}
				}
				for _, kern := range supportedRows() {
					got := make([]float32, count+1)
					kern.costs(metric)(query, rows, stride, items, got)
					for i := range want {
						if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
							t.Fatalf("%s %v d=%d: cost %d of %d is %v, portable gives %v", kern.name, metric, d, i, count, got[i], want[i])
						}
					}
					if got[count] != 0 {
						t.Fatalf("%s wrote past the items", kern.name)
					}
				}
			}
		}
	}
}

func BenchmarkExact(b *testing.B) {
	const n, queries, k = 20_000, 1000, 10
	for _, d := range []int{32, 128} {
		rows, x := normals(1, n*d), normals(2, queries*d)
		items := make([]uint32, queries*k)
		for _, metric := range metrics {
			exact, err := NewExact(metric, rows, n, d)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%v/d=%d", metric, d), func(b *testing.B) {
				for b.Loop() {
					exact.Search(x, queries, k, items, nil, SearchOptions{})
				}
				b.ReportMetric(queries*float64(b.N)/b.Elapsed().Seconds(), "queries/s")
			})
		}
	}
}

// Every kind finds the row that is asked for, and no other kind is made.
func TestNew(t *testing.T) {
	rows := []float32{1, 0, 0, 1, -1, 0, 0, -1}
	for _, kind := range append([]string{""}, Kinds...) {
		index, err := New(t.Context(), kind, InnerProduct, rows, 4, 2)
		if err != nil {
			t.Fatal(err)
		}
		found, scores := make([]uint32, 1), make([]float32, 1)
		index.Search([]float32{0.1, -2}, 1, 1, found, scores, SearchOptions{Effort: 100})
		if found[0] != 3 || scores[0] != 2 {
			t.Errorf("%q finds row %d with %g", kind, found[0], scores[0])
		}
	}
	if _, err := New(t.Context(), "tree", InnerProduct, rows, 4, 2); err == nil {
		t.Error("an index of an unknown kind was made")
	}
}
