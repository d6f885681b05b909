package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// mixture draws perCluster points around each of k well separated centres.
func mixture(k, d, perCluster int) (x, centers []float32) {
	rng := rand.New(rand.NewPCG(11, 12))
	centers = make([]float32, k*d)
	for i := range centers {
		centers[i] = float32(20 * rng.NormFloat64())
	}
	for i := range k * perCluster {
		for j := range d {
			x = append(x, centers[i%k*d+j]+float32(0.1*rng.NormFloat64()))
		}
	}
	return x, centers
}

func TestKMeansRecoversMixture(t *testing.T) {
	const k, d, per = 12, 6, 50
	x, truth := mixture(k, d, per)
	for _, init := range []KMeansInit{InitAuto, InitPlusPlus, InitParallel, InitTree} {
		centers, counts, err := KMeans(context.Background(), x, k*per, d, k, KMeansOptions{Seed: 1, Init: init})
		if err != nil {
			t.Fatal(err)
		}
		_, dist := bruteForce(truth, centers, k, k, d)
		for i, s := range dist {
			// The mean of 50 points with deviation 0.1 in 6 dimensions.
			if s > 0.1*0.1*d/per*6 {
				t.Errorf("init %d: the nearest centre to true centre %d is at squared distance %v", init, i, s)
			}
		}
		for i, count := range counts {
			if count != per {
				t.Errorf("init %d: centre %d has %d rows, want %d", init, i, count, per)
			}
		}
	}
}

func TestKMeansIsDeterministic(t *testing.T) {
	const n, d, k = 3000, 5, 100
	x := normals(1, n*d)
	run := func(seed uint64, workers int, init KMeansInit) []float32 {
		centers, _, err := KMeans(context.Background(), x, n, d, k, KMeansOptions{Seed: seed, Iterations: 5, Workers: workers, Init: init})
		if err != nil {
			t.Fatal(err)
		}
		return centers
	}
	for _, init := range []KMeansInit{InitPlusPlus, InitParallel, InitSample, InitTree} {
		want := run(1, 1, init)
		for _, workers := range []int{1, 2, 3, 7} {
			if !slices.Equal(run(1, workers, init), want) {
				t.Errorf("init %d: %d workers give other centres than one", init, workers)
			}
		}
		if slices.Equal(run(2, 1, init), want) {
			t.Errorf("init %d: the seed has no effect", init)
		}
	}
}

// TestKMeansStationary checks the defining property of the result: centres are
// the means of their rows.
func TestKMeansStationary(t *testing.T) {
	const n, d, k = 400, 3, 7
	x := normals(4, n*d)
	centers, counts, err := KMeans(context.Background(), x, n, d, k, KMeansOptions{Iterations: 1000, Tolerance: 1e-12})
	if err != nil {
		t.Fatal(err)
	}
	index, _ := bruteForce(x, centers, n, k, d)
	sums, rows := make([]float64, k*d), make([]int, k)
	for i, c := range index {
		rows[c]++
		for j := range d {
			sums[int(c)*d+j] += float64(x[i*d+j])
		}
	}
	if !slices.Equal(rows, counts) {
		t.Errorf("counts %v, want %v", counts, rows)
	}
	for i, s := range sums {
		if mean := s / float64(rows[i/d]); math.Abs(mean-float64(centers[i])) > 1e-5 {
			t.Errorf("centre %d, column %d is %v, the mean of its rows %v", i/d, i%d, centers[i], mean)
		}
	}
}

func TestKMeansReseedsEmptyClusters(t *testing.T) {
	// Two points hold nearly all rows: a random sample repeats them, and the
	// other three are found only by re-seeding.
	x := append(make([]float32, 500), 1, 2, 3)
	for i := range 250 {
		x[i] = 10
	}
	for seed := range uint64(5) {
		centers, counts, err := KMeans(context.Background(), x, len(x), 1, 5, KMeansOptions{Seed: seed, Init: InitSample})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(centers)
		if !slices.Equal(centers, []float32{0, 1, 2, 3, 10}) || slices.Contains(counts, 0) {
			t.Errorf("seed %d: centres %v with %v rows", seed, centers, counts)
		}
	}
}

func TestKMeansFewerDistinctRowsThanCenters(t *testing.T) {
	x := []float32{1, 1, 5, 5, 1, 1, 9, 9, 5, 5}
	for _, init := range []KMeansInit{InitAuto, InitPlusPlus, InitParallel, InitSample, InitTree} {
		for _, k := range []int{3, 4, 9, 200} {
			centers, counts, err := KMeans(context.Background(), x, 5, 2, k, KMeansOptions{Init: init})
			if err != nil {
				t.Fatal(err)
			}
			rows := map[string]int{}
			for i, count := range counts {
				rows[fmt.Sprint(centers[2*i:2*i+2])] += count
			}
			if len(rows) != 3 || rows["[1 1]"] != 2 || rows["[5 5]"] != 2 || rows["[9 9]"] != 1 {
				t.Errorf("init %d, k=%d: rows by centre %v", init, k, rows)
			}
		}
	}
}

func TestKMeansErrors(t *testing.T) {
	stopped, stop := context.WithCancel(context.Background())
	stop()
	for _, init := range []KMeansInit{InitPlusPlus, InitParallel, InitSample, InitTree} {
		if _, _, err := KMeans(stopped, normals(1, 40), 20, 2, 3, KMeansOptions{Init: init}); !errors.Is(err, context.Canceled) {
			t.Errorf("init %d with an ended context: %v", init, err)
		}
	}
	for _, c := range []struct {
		x       []float32
		n, d, k int
		opt     KMeansOptions
		want    string
	}{
		{nil, 0, 2, 2, KMeansOptions{}, "positive"},
		{[]float32{1, 2, 3}, 2, 2, 2, KMeansOptions{}, "3 numbers"},
		{[]float32{1, 2}, 1, 2, 0, KMeansOptions{}, "at least one centre"},
		{[]float32{1, float32(math.NaN())}, 1, 2, 1, KMeansOptions{}, "row 0, column 1"},
		{[]float32{1, 2}, 1, 2, 1, KMeansOptions{Iterations: -1}, "out of range"},
		{[]float32{1, 2}, 1, 2, 1, KMeansOptions{Init: 9}, "out of range"},
	} {
		if _, _, err := KMeans(context.Background(), c.x, c.n, c.d, c.k, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one about %q", err, c.want)
		}
	}
}

// Five updates continued from their centres for five more are ten, and the
// errors reported on the way never rise.
func TestKMeansContinuesFromGivenCentres(t *testing.T) {
	const n, d, k = 2000, 4, 32
	x := normals(5, n*d)
	var totals []float64
	cluster := func(iterations int, start []float32) []float32 {
		centers, _, err := KMeans(t.Context(), x, n, d, k, KMeansOptions{Seed: 3, Iterations: iterations, Tolerance: -1, Start: start,
			Watch: func(updates int, total float64) { totals = append(totals, total) }})
		if err != nil {
			t.Fatal(err)
		}
		return centers
	}
	straight := cluster(10, nil)
	if len(totals) != 11 {
		t.Fatalf("%d errors were reported of 10 updates, want 11", len(totals))
	}
	for i := 1; i < len(totals); i++ {
		if totals[i] > totals[i-1] {
			t.Errorf("update %d raised the error from %v to %v", i, totals[i-1], totals[i])
		}
	}
	first := cluster(5, nil)
	kept := slices.Clone(first)
	if !slices.Equal(cluster(5, first), straight) {
		t.Error("centres of 5 + 5 updates are not those of 10")
	}
	if !slices.Equal(first, kept) {
		t.Error("the given centres were changed")
	}
	_, _, err := KMeans(t.Context(), x, n, d, k, KMeansOptions{Start: first[1:]})
	if err == nil || !strings.Contains(err.Error(), "k-means start") {
		t.Errorf("too few centres: %v", err)
	}
}

// The tree's centres are as good as a choice over all rows, to a few per cent,
// and a seed repeats them with any number of workers.
func TestTreeStart(t *testing.T) {
	const n, d, k = 20000, 8, 1024
	x := make([]float32, n*d)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		x[i] = float32(rng.NormFloat64() * (1 + float64(i/d%7)))
	}
	errorOf := func(init KMeansInit, workers int) (float64, []float32) {
		last := 0.0
		centers, _, err := KMeans(t.Context(), x, n, d, k, KMeansOptions{Seed: 5, Init: init, Iterations: 3, Workers: workers,
			Watch: func(_ int, total float64) { last = total }})
		if err != nil {
			t.Fatal(err)
		}
		return last, centers
	}
	tree, one := errorOf(InitTree, 1)
	_, two := errorOf(InitTree, 2)
	parallel, _ := errorOf(InitParallel, 2)
	if tree > 1.05*parallel {
		t.Errorf("error %g from the tree, %g from k-means||", tree, parallel)
	}
	if !slices.Equal(one, two) {
		t.Error("the number of workers changes the centres")
	}
	t.Logf("tree %g, k-means|| %g", tree, parallel)
}

func TestShareOut(t *testing.T) {
	for _, test := range []struct {
		k          int
		rows, want []int
	}{
		{10, []int{50, 30, 20}, []int{5, 3, 2}}, {3, []int{1, 1, 100}, []int{0, 0, 3}},
		{7, []int{1, 1, 1}, []int{1, 1, 1}}, {5, []int{4, 4, 0}, []int{3, 2, 0}},
	} {
		members := make([][]int, len(test.rows))
		for g, n := range test.rows {
			members[g] = make([]int, n)
		}
		if got := shareOut(test.k, members); !slices.Equal(got, test.want) {
			t.Errorf("%d centres for groups of %v rows: %v, want %v", test.k, test.rows, got, test.want)
		}
	}
}
