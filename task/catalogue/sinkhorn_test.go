package catalogue

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// least is the least total cost of giving n items places of their own, by trying all.
func least(cost []float64, n, m, item int, used []bool) float64 {
	if item == n {
		return 0
	}
	best := math.Inf(1)
	for at := range m {
		if !used[at] {
			used[at] = true
			best = min(best, cost[item*m+at]+least(cost, n, m, item+1, used))
			used[at] = false
		}
	}
	return best
}

func TestAssignIsNearlyTheBest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ratio := 0.0
	const rounds = 200
	for range rounds {
		n := 1 + random.IntN(5)
		m := n + random.IntN(4)
		cost := make([]float64, n*m)
		for i := range cost {
			cost[i] = random.ExpFloat64()
		}
		total, used := 0.0, map[int]bool{}
		for item, at := range assign(cost, n, m) {
			if at < 0 || used[at] {
				t.Fatalf("item %d of %d has place %d of %d", item, n, at, m)
			}
			used[at] = true
			total += cost[item*m+at]
		}
		best := least(cost, n, m, 0, make([]bool, m))
		if total < best-1e-9 {
			t.Fatalf("%g is less than the least cost %g", total, best)
		}
		ratio += total / best / rounds
	}
	if ratio > 1.02 {
		t.Errorf("the cost is %.3f times the least in the mean", ratio)
	}
}

func TestTransportKeepsTheRoom(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, size := range [][2]int{{3, 9}, {6, 6}, {9, 4}, {1, 1}} {
		n, m := size[0], size[1]
		cost := make([]float64, n*m)
		for i := range cost {
			cost[i] = 1 + random.Float64()
		}
		plan := transport(cost, n, m)
		for j := range m {
			sum := 0.0
			for i := range n {
				sum += math.Exp(plan[i*m+j])
			}
			if sum > 1+1e-9 {
				t.Errorf("%d items on %d places: place %d holds %g", n, m, j, sum)
			}
		}
		for i := range n {
			sum := 0.0
			for j := range m {
				sum += math.Exp(plan[i*m+j])
			}
			if want := min(1, float64(m)/float64(n)); math.Abs(sum-want) > 0.02 {
				t.Errorf("%d items on %d places: item %d carries %g, want %g", n, m, i, sum, want)
			}
		}
	}
	if got := assign([]float64{0, 0, 0}, 3, 1); len(slices.DeleteFunc(got, func(at int) bool { return at < 0 })) != 1 {
		t.Errorf("three items on one place: %v", got)
	}
	if got := assign(nil, 2, 0); !slices.Equal(got, []int{-1, -1}) {
		t.Errorf("no place: %v", got)
	}
}

// a would move far if b, which is near the free code, kept its own.
func TestSinkhornSpreadsAllThatCollide(t *testing.T) {
	codes := []uint32{0, 1, 0, 1, 0, 3, 1, 1}
	far := map[int][]float64{0: {9, 2, 5, 0}, 1: {9, 1, 1.5, 9}} // of the last codes; b could have 2 for little more
	distances := func(item int, prefix []uint32) []float64 {
		if len(prefix) != 1 || prefix[0] != 0 {
			t.Errorf("asked for prefix %v", prefix)
		}
		return far[item]
	}
	build := func(r Resolution) *Table {
		table, err := Build(codes, []int{2, 4}, strings.Fields("b a c d"), BuildOptions{Resolve: r, Distances: distances})
		return must(t, table, err)
	}
	// c has 3 alone, and d is elsewhere: neither moves.
	if got := render(build(Sinkhorn)); got != "b [0 1]\na [0 2]\nc [0 3]\nd [1 1]\n" {
		t.Errorf("got %q", got)
	}
	far[0], far[1] = far[1], far[0] // the first one is to move now
	table := build(Sinkhorn)
	if got := render(table); got != "b [0 2]\na [0 1]\nc [0 3]\nd [1 1]\n" {
		t.Errorf("got %q", got)
	}
	if got := render(build(Reassign)); got != "b [0 1]\na [0 2]\nc [0 3]\nd [1 1]\n" {
		t.Errorf("got %q", got)
	}
	if v := table.versions[0]; v.Moved != 1 {
		t.Errorf("%+v", v)
	}
	// New items take free codes, and IDs in use stay.
	far[0], far[1] = []float64{1, 0, 0, 0}, []float64{1, 1, 0, 0}
	if err := table.Add([]uint32{0, 2, 0, 2}, []string{"e", "f"}, distances); err != nil {
		t.Fatal(err)
	}
	if got := render(table); !strings.HasPrefix(got, "b [0 2]\na [0 1]\nc [0 3]\nd [1 1]\n") || strings.Count(got, "[0 0]") != 1 {
		t.Errorf("got %q", got)
	}
}
