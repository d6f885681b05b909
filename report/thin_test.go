package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// thin runs thinLine over values at positions spread by place.
func thin(y []float64, limit int, place func(i int) float64) []int {
	return thinLine(len(y), limit, func(i int) bool { return drawable(y[i], false) },
		func(i int) float64 { return y[i] }, place)
}

func evenly(n int) func(i int) float64 {
	return func(i int) float64 { return float64(i) / float64(n-1) }
}

func TestThinLineKeepsExtremesEndsAndOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for range 300 {
		n := 2 + random.IntN(20000)
		y := make([]float64, n)
		for i := range y {
			y[i] = random.NormFloat64()
		}
		spike, hole := random.IntN(n), random.IntN(n)
		y[spike] = 100
		if hole != spike {
			y[hole] = -100
		}
		place := evenly(n)
		if random.IntN(2) == 0 { // an axis that runs back: slots by index
			place = func(i int) float64 { return 1 - float64(i)/float64(n) }
		}
		got := thin(y, linePoints, place)
		if len(got) > linePoints {
			t.Fatalf("%d points of %d", len(got), n)
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatal("indices out of order or repeated")
		}
		if !slices.Contains(got, spike) || hole != spike && !slices.Contains(got, hole) {
			t.Fatalf("n=%d: an extreme was lost", n)
		}
		if got[0] != 0 || got[len(got)-1] != n-1 {
			t.Fatalf("ends %d and %d, want 0 and %d", got[0], got[len(got)-1], n-1)
		}
		if n <= linePoints && len(got) != n {
			t.Fatalf("a short line of %d points was thinned to %d", n, len(got))
		}
	}
}

func TestThinLineKeepsTheHeadOfALogAxis(t *testing.T) {
	const n = 65536
	y := make([]float64, n)
	for i := range y {
		y[i] = 1 / float64(i+1)
	}
	got := thin(y, linePoints, func(i int) float64 { return math.Log(float64(i+1)) / math.Log(n) })
	for rank := range 30 {
		if !slices.Contains(got, rank) {
			t.Fatalf("rank %d is missing; picked %v...", rank+1, got[:20])
		}
	}
}

func TestThinLineGaps(t *testing.T) {
	nan := math.NaN()
	if got := thin([]float64{nan, 1, 2, nan, math.Inf(1), 3, nan}, linePoints, evenly(7)); !slices.Equal(got, []int{1, 2, -1, 5}) {
		t.Errorf("short line: %v", got)
	}
	y := make([]float64, 60000)
	for i := range y {
		y[i] = math.Sin(float64(i))
		if i >= 20000 && i < 30000 {
			y[i] = nan
		}
	}
	got := thin(y, linePoints, evenly(len(y)))
	gap := slices.Index(got, -1)
	if gap < 1 || slices.Index(got[gap+1:], -1) >= 0 {
		t.Fatalf("want exactly one gap, first at %d", gap)
	}
	if got[gap-1] >= 20000 || got[gap+1] < 30000 {
		t.Errorf("gap between %d and %d", got[gap-1], got[gap+1])
	}
}

func TestThinPoints(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	x, y, all := make([]float64, 10000), make([]float64, 10000), make([]int, 10000)
	for i := range x {
		x[i], y[i], all[i] = random.NormFloat64(), random.NormFloat64(), i
	}
	got := thinPoints(all, 3000, x, y)
	if len(got) != 3000 || !slices.IsSorted(got) {
		t.Fatalf("%d points, sorted %v", len(got), slices.IsSorted(got))
	}
	if !slices.Equal(got, thinPoints(all, 3000, x, y)) {
		t.Error("two calls differ")
	}
	for _, values := range [][]float64{x, y} {
		lowest, highest := math.Inf(1), math.Inf(-1)
		for _, i := range got {
			lowest, highest = min(lowest, values[i]), max(highest, values[i])
		}
		if lowest != slices.Min(values) || highest != slices.Max(values) {
			t.Error("an outermost point was lost")
		}
	}
	early := 0
	for _, i := range got {
		if i < 5000 {
			early++
		}
	}
	if early < 1350 || early > 1650 { // 1500 expected, deviation about 23
		t.Errorf("%d of 3000 from the first half", early)
	}
}

func TestBinKeepsTheTotal(t *testing.T) {
	for _, n := range []int{1, 256, 257, 1000, 65536} {
		values := make([]float64, n)
		sum := 0.0
		for i := range values {
			values[i] = float64(i % 17)
			sum += values[i]
		}
		bars := bin(values)
		got := 0.0
		for _, b := range bars {
			got += b.mean * float64(b.to-b.from)
		}
		if len(bars) > mostBars || math.Abs(got-sum) > 1e-6*sum {
			t.Errorf("n=%d: %d bars holding %g, want %g", n, len(bars), got, sum)
		}
	}
	if got := bin([]float64{math.NaN(), 4}); !math.IsNaN(got[0].mean) || got[1].mean != 4 {
		t.Errorf("bars %v", got)
	}
}
