package index

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func newHNSW(t testing.TB, metric Metric, rows []float32, d int, opt HNSWOptions) *HNSW {
	t.Helper()
	h, err := NewHNSW(context.Background(), metric, rows, len(rows)/d, d, opt)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// best is the answer of Exact.
func best(t testing.TB, metric Metric, rows, x []float32, d, k int) []uint32 {
	t.Helper()
	exact, err := NewExact(metric, rows, len(rows)/d, d)
	if err != nil {
		t.Fatal(err)
	}
	return search(exact, x, k, 0)
}

func TestHNSWRecall(t *testing.T) {
	const n, queries, k = 4000, 200, 10
	for _, metric := range metrics {
		for _, c := range []struct {
			name    string
			d       int
			rows, x []float32
			want    map[int]float64 // least recall by effort
		}{
			{"gaussian", 32, normals(1, n*32), normals(2, queries*32), map[int]float64{10: 0.6, 40: 0.93, 80: 0.98, 200: 0.995}},
			{"clustered", 24, clustered(1, n, 24, 50, 0.3), clustered(2, queries, 24, 50, 0.3), map[int]float64{10: 0.97, 40: 0.99}},
			// Clusters far apart and larger than the list kept while building.
			{"tight clusters", 24, clustered(1, n, 24, 5, 0.001), clustered(2, queries, 24, 5, 0.001), map[int]float64{40: 0.95, 160: 0.99}},
		} {
			h := newHNSW(t, metric, c.rows, c.d, HNSWOptions{M: 12, EfConstruction: 80})
			want := best(t, metric, c.rows, c.x, c.d, k)
			for ef, least := range c.want {
				if got := recall(search(h, c.x, k, ef), want, k); got < least {
					t.Errorf("%v, %s: recall %.3f with a list of %d, want %.2f", metric, c.name, got, ef, least)
				}
			}
		}
	}
}

// Every row finds itself: the graph is in one piece.
func TestHNSWRowsFindThemselves(t *testing.T) {
	const n, d = 3000, 12
	for _, noise := range []float32{1, 0.01} {
		rows := clustered(3, n, d, 30, noise)
		h := newHNSW(t, Euclidean, rows, d, HNSWOptions{M: 8, EfConstruction: 60})
		lost := 0
		for i, item := range search(h, rows, 1, 60) {
			if int(item) != i {
				lost++
			}
		}
		if lost > n/1000 {
			t.Errorf("noise %v: %d of %d rows do not find themselves", noise, lost, n)
		}
	}
}

// graphOf is all that makes up a graph.
func graphOf(h *HNSW) string { return fmt.Sprint(h.entry, h.top, h.twins.node, h.bottom, h.upper) }

func TestHNSWIsTheSameEverywhere(t *testing.T) {
	const n, d = 700, 19
	rows := normals(1, n*d)
	for _, metric := range metrics {
		var want string
		for _, kern := range supportedRows() {
			for _, workers := range []int{1, 3} {
				h, err := newHNSWWith(t.Context(), kern, metric, rows, n, d, HNSWOptions{M: 6, EfConstruction: 40, Seed: 7, Workers: workers})
				if err != nil {
					t.Fatal(err)
				}
				content := graphOf(h)
				if want == "" {
					want = content
				}
				if content != want {
					t.Errorf("%v: the graph depends on the kernel (%s) or the number of workers (%d)", metric, kern.name, workers)
				}
			}
		}
	}
}

func TestHNSWScoresAreThoseOfExact(t *testing.T) {
	const n, d, k = 300, 7, 5
	rows, x := normals(1, n*d), normals(2, 40*d)
	for _, metric := range metrics {
		h := newHNSW(t, metric, rows, d, HNSWOptions{})
		want, wantScores := bruteTop(metric, x, rows, 40, n, d, k)
		items, scores := make([]uint32, 40*k), make([]float32, 40*k)
		h.Search(x, 40, k, items, scores, SearchOptions{Effort: n})
		sameAnswer(t, items, want, scores, wantScores)
	}
}

func TestHNSWAdd(t *testing.T) {
	const n, d, queries, k = 3000, 16, 100, 10
	rows, x := normals(1, n*d), normals(2, queries*d)
	for _, metric := range metrics {
		h := newHNSW(t, metric, rows[:d], d, HNSWOptions{M: 12, EfConstruction: 80})
		for from := 1; from < n; {
			count := min(1+from/3, n-from)
			if err := h.Add(rows[from*d:(from+count)*d], count); err != nil {
				t.Fatal(err)
			}
			from += count
		}
		if h.Len() != n || h.nodes.n != n || !slices.Equal(h.Row(n-1), rows[(n-1)*d:]) {
			t.Errorf("%d rows, %d nodes", h.Len(), h.nodes.n)
		}
		if got := recall(search(h, x, k, 80), best(t, metric, rows, x, d, k), k); got < 0.98 {
			t.Errorf("%v: recall %.3f after adding", metric, got)
		}
		if err := h.Add(make([]float32, 3), 1); err == nil || h.Len() != n {
			t.Errorf("a short row was accepted: %v", err)
		}
	}
}

// Items that decode to the same vector are all found, however many.
func TestHNSWOfEqualRows(t *testing.T) {
	const distinct, copies, d, k = 150, 40, 8, 100
	base, x := normals(1, distinct*d), normals(2, 60*d)
	var rows []float32
	for range copies {
		rows = append(rows, base...)
	}
	for _, metric := range metrics {
		h := newHNSW(t, metric, rows, d, HNSWOptions{})
		if h.Len() != distinct*copies || h.nodes.n != distinct || !slices.Equal(h.Row(distinct), base[:d]) {
			t.Errorf("%d rows, %d nodes", h.Len(), h.nodes.n)
		}
		want, wantScores := bruteTop(metric, x, rows, 60, distinct*copies, d, k)
		items, scores := make([]uint32, 60*k), make([]float32, 60*k)
		h.Search(x, 60, k, items, scores, SearchOptions{Effort: distinct})
		sameAnswer(t, items, want, scores, wantScores)
	}
}

func TestTwinsThatCollide(t *testing.T) {
	nodes := collection{d: 1, stride: 1}
	var all twins
	all.add([]float32{1}, &nodes)
	all.known = map[uint64]uint32{hashOf([]float32{2}): 0} // row 1 sits where row 2 belongs
	fresh := func(v float32) bool {
		before := nodes.n
		all.add([]float32{v}, &nodes)
		return nodes.n > before
	}
	if !fresh(2) || fresh(2) {
		t.Error("a row is confused with one of equal hash")
	}
	if !fresh(0) || fresh(float32(math.Copysign(0, -1))) {
		t.Error("-0 is not 0")
	}
}

func TestHNSWLayersThinOut(t *testing.T) {
	h := &HNSW{opt: HNSWOptions{M: 8}}
	const n = 80_000
	var counts [4]int
	for node := range uint32(n) {
		for layer := range min(h.layerOf(node)+1, len(counts)) {
			counts[layer]++
		}
	}
	for layer, want := range []int{n, n / 8, n / 64, n / 512} {
		if diff := counts[layer] - want; diff*diff > 16*want { // four standard deviations
			t.Errorf("layer %d has %d nodes, want about %d", layer, counts[layer], want)
		}
	}
}

func TestNewHNSWErrors(t *testing.T) {
	rows := normals(1, 200)
	for _, opt := range []HNSWOptions{{M: 3}, {M: 513}, {EfConstruction: -1}, {EfSearch: -1}, {EfSearch: 1 << 21}} {
		if _, err := NewHNSW(t.Context(), Euclidean, rows, 100, 2, opt); err == nil || !strings.Contains(err.Error(), "out of range") {
			t.Errorf("%+v: error %v", opt, err)
		}
	}
	if _, err := NewHNSW(t.Context(), Euclidean, []float32{1, 2e18}, 2, 1, HNSWOptions{}); err == nil ||
		!strings.Contains(err.Error(), "row 1 is not shorter") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewHNSW(ctx, Euclidean, rows, 100, 2, HNSWOptions{}); err == nil ||
		!strings.Contains(err.Error(), "stopped 100 rows before its end") {
		t.Errorf("error %v", err)
	}
	opt := newHNSW(t, Euclidean, rows, 2, HNSWOptions{}).opt
	if opt.M != 16 || opt.EfConstruction != 200 || opt.EfSearch != 100 {
		t.Errorf("defaults are %+v", opt)
	}
}

func BenchmarkHNSW(b *testing.B) {
	const n, d, queries, k = 20_000, 32, 1000, 10
	rows, x, items := normals(1, n*d), normals(2, queries*d), make([]uint32, queries*k)
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			newHNSW(b, InnerProduct, rows, d, HNSWOptions{})
		}
		b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	h := newHNSW(b, InnerProduct, rows, d, HNSWOptions{})
	want := best(b, InnerProduct, rows, x, d, k)
	for _, ef := range []int{20, 80, 320} {
		b.Run(fmt.Sprintf("ef=%d", ef), func(b *testing.B) {
			for b.Loop() {
				h.Search(x, queries, k, items, nil, SearchOptions{Effort: ef})
			}
			b.ReportMetric(queries*float64(b.N)/b.Elapsed().Seconds(), "queries/s")
			b.ReportMetric(recall(items, want, k), "recall@10")
		})
	}
}
