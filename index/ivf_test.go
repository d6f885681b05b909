package index

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// clustered draws n rows around centres, sorted by centre.
func clustered(seed uint64, n, d, centres int, noise float32) []float32 {
	x, c := normals(seed, n*d), normals(42, centres*d)
	for i := range x {
		x[i] = c[i/d*centres/n*d+i%d] + noise*x[i]
	}
	return x
}

// recall is the share of the k best rows that are among those found.
func recall(found, best []uint32, k int) float64 {
	hits := 0
	for i := 0; i < len(best); i += k {
		for _, item := range best[i : i+k] {
			if slices.Contains(found[i:i+k], item) {
				hits++
			}
		}
	}
	return float64(hits) / float64(len(best))
}

// search returns the k best rows that s finds for x [n,d].
func search(s RowIndex, x []float32, k, effort int) []uint32 {
	n := len(x) / s.Dim()
	items := make([]uint32, n*k)
	s.Search(x, n, k, items, nil, SearchOptions{Effort: effort})
	return items
}

func TestIVFOfAllListsIsExact(t *testing.T) {
	problems := append(hardProblems(), randomProblem(600, 900, 20), randomProblem(3, 1, 2))
	for _, metric := range metrics {
		for _, p := range problems {
			if strings.Contains(p.name, "range when squared") || strings.Contains(p.name, "largest") {
				continue // k-means refuses them
			}
			for _, lists := range []int{1, 5, 40} {
				ivf, err := NewIVF(t.Context(), metric, p.rows, p.k, p.d, IVFOptions{Lists: min(lists, p.k)})
				if err != nil {
					t.Fatalf("%s: %v", p.name, err)
				}
				const k = 6
				want, wantScores := bruteTop(metric, p.x, p.rows, p.n, p.k, p.d, k)
				items, scores := make([]uint32, p.n*k), make([]float32, p.n*k)
				ivf.Search(p.x, p.n, k, items, scores, SearchOptions{Effort: lists})
				sameAnswer(t, items, want, scores, wantScores)
			}
		}
	}
}

// Scores too large for float32 are settled by definition, list by list.
func TestIVFOfHugeRows(t *testing.T) {
	const n, d, k = 300, 4, 5
	rows, x := normals(1, n*d), normals(2, 20*d)
	for i := range rows {
		rows[i] *= 1e18
	}
	for i := range x {
		x[i] *= 1e25
	}
	ivf, err := NewIVF(t.Context(), InnerProduct, rows, n, d, IVFOptions{Lists: 9, Probe: 9})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := bruteTop(InnerProduct, x, rows, 20, n, d, k)
	if got := search(ivf, x, k, 0); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestIVFRecallRisesWithEffort(t *testing.T) {
	const n, d, queries, k = 4000, 16, 200, 10
	for _, metric := range metrics {
		for _, c := range []struct {
			name    string
			rows, x []float32
			want    map[int]float64 // least recall by number of lists, of 63
		}{
			{"gaussian", normals(1, n*d), normals(2, queries*d), map[int]float64{1: 0.1, 8: 0.6, 32: 0.97, 63: 1}},
			{"clustered", clustered(1, n, d, 50, 0.3), clustered(2, queries, d, 50, 0.3), map[int]float64{1: 0.85, 4: 0.99, 63: 1}},
		} {
			exact, err := NewExact(metric, c.rows, n, d)
			if err != nil {
				t.Fatal(err)
			}
			ivf, err := NewIVF(t.Context(), metric, c.rows, n, d, IVFOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(ivf.lists) != 63 || ivf.probe != 8 {
				t.Errorf("%d lists, %d to look into", len(ivf.lists), ivf.probe)
			}
			best := search(exact, c.x, k, 0)
			for probe, least := range c.want {
				if got := recall(search(ivf, c.x, k, probe), best, k); got < least {
					t.Errorf("%v, %s: recall %.3f with %d lists, want %.2f", metric, c.name, got, probe, least)
				}
			}
		}
	}
}

// Long centres do not attract the rows of others.
func TestIVFListsGoByDirection(t *testing.T) {
	const n, d, centres = 2000, 6, 40
	rows := clustered(1, n, d, centres, 0.1)
	for i := range rows {
		rows[i] *= float32(1 + i/d*centres/n)
	}
	ivf, err := NewIVF(t.Context(), InnerProduct, rows, n, d, IVFOptions{Lists: centres})
	if err != nil {
		t.Fatal(err)
	}
	longest := 0
	for _, members := range ivf.members {
		longest = max(longest, len(members))
	}
	if longest > 5*n/centres {
		t.Errorf("a list has %d of %d rows, the mean is %d", longest, n, n/centres)
	}
}

func TestIVFDoesNotDependOnBatchAndWorkers(t *testing.T) {
	const n, d, queries, k = 1500, 8, 700, 4
	rows, x := normals(1, n*d), normals(2, queries*d)
	build := func(workers int) (*IVF, string) {
		ivf, err := NewIVF(t.Context(), Euclidean, rows, n, d, IVFOptions{Seed: 3, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		return ivf, fmt.Sprint(ivf.centers.rows, ivf.members)
	}
	ivf, content := build(1)
	if _, other := build(3); content != other {
		t.Error("the index depends on the number of workers")
	}
	want := search(ivf, x, k, 5)
	for _, split := range []int{1, 9, 100} {
		var got []uint32
		for from := 0; from < queries; from += split {
			got = append(got, search(ivf, x[from*d:min(from+split, queries)*d], k, 5)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("queries %d at a time have other answers", split)
		}
	}
}

func TestIVFAdd(t *testing.T) {
	const n, d, k = 1000, 8, 5
	rows, x := normals(1, n*d), normals(2, 50*d)
	for _, metric := range metrics {
		whole, err := NewIVF(t.Context(), metric, rows[:400*d], 400, d, IVFOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for from := 400; from < n; from += 200 {
			if err := whole.Add(rows[from*d:(from+200)*d], 200); err != nil {
				t.Fatal(err)
			}
		}
		if whole.Len() != n || !slices.Equal(whole.Row(999), rows[999*d:]) {
			t.Errorf("%d rows", whole.Len())
		}
		want, _ := bruteTop(metric, x, rows, 50, n, d, k)
		if got := search(whole, x, k, len(whole.lists)); !slices.Equal(got, want) {
			t.Error("added rows are not found")
		}
		if err := whole.Add([]float32{1}, 1); err == nil || whole.Len() != n {
			t.Errorf("a short row was accepted: %v", err)
		}
	}
}

// Fewer distinct rows than lists, and lists without rows.
func TestIVFOfEqualRows(t *testing.T) {
	rows := slices.Repeat([]float32{1, 2, 3, 4}, 50) // two distinct rows of two numbers
	ivf, err := NewIVF(t.Context(), Euclidean, rows, 100, 2, IVFOptions{Lists: 10})
	if err != nil {
		t.Fatal(err)
	}
	if got := search(ivf, []float32{3, 4}, 3, 1); !slices.Equal(got, []uint32{1, 3, 5}) {
		t.Errorf("got %v", got)
	}
	if got := search(ivf, []float32{3, 4}, 51, 1); got[49] != 99 || got[50] != Missing {
		t.Errorf("got %v", got[48:])
	}
}

func TestNewIVFErrors(t *testing.T) {
	for _, opt := range []IVFOptions{{Lists: -1}, {Lists: 5}, {Probe: -1}, {Iterations: -1}} {
		if _, err := NewIVF(t.Context(), Euclidean, make([]float32, 8), 4, 2, opt); err == nil || !strings.Contains(err.Error(), "out of range") {
			t.Errorf("%+v: error %v", opt, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewIVF(ctx, Euclidean, normals(1, 200), 100, 2, IVFOptions{}); err == nil {
		t.Error("a cancelled build went on")
	}
}

func BenchmarkIVF(b *testing.B) {
	const n, d, queries, k = 20_000, 32, 1000, 10
	rows, x, items := normals(1, n*d), normals(2, queries*d), make([]uint32, queries*k)
	ivf, err := NewIVF(b.Context(), InnerProduct, rows, n, d, IVFOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, probe := range []int{4, 16, 64} {
		b.Run(fmt.Sprintf("probe=%d", probe), func(b *testing.B) {
			for b.Loop() {
				ivf.Search(x, queries, k, items, nil, SearchOptions{Effort: probe})
			}
			b.ReportMetric(queries*float64(b.N)/b.Elapsed().Seconds(), "queries/s")
		})
	}
}
