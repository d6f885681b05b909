package eval

import (
	"math"
	"math/rand/v2"
	"testing"
)

// rotated returns U diag(s) V^T for fixed rotations U, V of the plane.
func rotated(s0, s1 float64) []float32 {
	c, s := math.Cos(0.7), math.Sin(0.7)
	e, f := math.Cos(-1.9), math.Sin(-1.9)
	return []float32{
		float32(c*s0*e + s*s1*f), float32(c*s0*f - s*s1*e),
		float32(s*s0*e - c*s1*f), float32(s*s0*f + c*s1*e),
	}
}

func TestSingularValuesOfARotatedDiagonal(t *testing.T) {
	m := rotated(3, 1)
	near(t, "spectral norm", SpectralNorm(m, 2), 3, 1e-6)
	largest, smallest := SingularRange(m, 2)
	near(t, "largest", largest, SpectralNorm(m, 2), 0)
	near(t, "smallest", smallest, 1, 1e-6)
	// Singular values 3 and 1 have the shares 3/4 and 1/4.
	want := math.Exp(-0.75*math.Log(0.75) - 0.25*math.Log(0.25))
	near(t, "effective rank", EffectiveRank(m, 2, 2), want, 1e-6)
	_, smallest = SingularRange([]float32{1, 2, 2, 4}, 2)
	near(t, "smallest of a singular matrix", smallest, 0, 1e-12)
	nan := float32(math.NaN())
	largest, smallest = SingularRange([]float32{1, 0, nan, 1}, 2)
	if !math.IsNaN(SpectralNorm([]float32{1, nan, 0, 1}, 2)) || !math.IsNaN(largest) || !math.IsNaN(smallest) {
		t.Error("a matrix with NaN has a norm")
	}
}

func TestEffectiveRankLimits(t *testing.T) {
	identity := make([]float32, 8*5)
	for i := range 5 {
		identity[i*5+i] = 2
	}
	near(t, "orthogonal rows", EffectiveRank(identity, 8, 5), 5, 1e-12)
	var line []float32
	for i := range 100 {
		line = append(line, float32(i), -2*float32(i), 0.1*float32(i))
	}
	near(t, "one line", EffectiveRank(line, 100, 3), 1, 1e-6)
	near(t, "fewer rows than columns", EffectiveRank([]float32{1, 0, 0, 0, 0, 1, 0, 0}, 2, 4), 2, 1e-6)
	near(t, "zeros", EffectiveRank(make([]float32, 6), 2, 3), 0, 0)
	near(t, "nothing", EffectiveRank(nil, 0, 3), 0, 0)
	if !math.IsNaN(EffectiveRank([]float32{1, float32(math.Inf(1))}, 1, 2)) {
		t.Error("infinite rows have a rank")
	}
}

func TestWrongShapePanics(t *testing.T) {
	for name, call := range map[string]func(){
		"EffectiveRank":       func() { EffectiveRank(make([]float32, 5), 2, 3) },
		"SpectralNorm":        func() { SpectralNorm(make([]float32, 5), 2) },
		"SingularRange":       func() { SingularRange(make([]float32, 3), 2) },
		"MinPairwiseDistance": func() { MinPairwiseDistance(make([]float32, 3), 2, 2) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s took a wrong shape", name)
				}
			}()
			call()
		}()
	}
}

func TestMinPairwiseDistance(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, d := range []int{1, 3, 16, 17, 40} {
		const k = 30
		rows := make([]float32, k*d)
		for i := range rows {
			rows[i] = float32(random.NormFloat64())
		}
		want := math.Inf(1)
		for i := range k {
			for j := range k {
				norm := 0.0
				for c := range d {
					norm = math.Hypot(norm, float64(rows[i*d+c])-float64(rows[j*d+c]))
				}
				if i != j {
					want = min(want, norm)
				}
			}
		}
		near(t, "distance", MinPairwiseDistance(rows, k, d), want, 1e-12)
	}
	if got := MinPairwiseDistance([]float32{1, 2}, 1, 2); !math.IsInf(got, 1) {
		t.Errorf("one row: %g", got)
	}
	if got := MinPairwiseDistance([]float32{1, float32(math.NaN())}, 2, 1); !math.IsNaN(got) {
		t.Errorf("NaN row: %g", got)
	}
}

func TestMinPairwiseDistanceOfManyRowsIsSampled(t *testing.T) {
	// On a grid every row has a neighbour at distance 2, so any sample finds
	// it; a single closer pair among 10000 rows is found only when drawn.
	const k = 10000
	grid := make([]float32, k)
	for i := range grid {
		grid[i] = 2 * float32(i)
	}
	near(t, "grid", MinPairwiseDistance(grid, k, 1), 2, 0)
	missed := 0
	for _, place := range []int{1, 2999, 5000, 8333} {
		grid[place] -= 0.5
		first, second := MinPairwiseDistance(grid, k, 1), MinPairwiseDistance(grid, k, 1)
		if first != second || first != 1.5 && first != 2 {
			t.Errorf("distances %g, %g", first, second)
		}
		if first == 2 {
			missed++
		}
		grid[place] += 0.5
	}
	if missed == 0 {
		t.Error("every pair was compared: the sample is not one")
	}
}
