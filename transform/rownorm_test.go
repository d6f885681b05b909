package transform

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// With x = A Bᵀ E, n = |x|² + τ²g² and q = √(1+τ²), rows are y = g q x/√n, so that
// dx = g q/√n (I - x xᵀ/n) dy and dg = Σ q |x|²/√n³ <x, dy>.
func TestRowNormGradientsInClosedForm(t *testing.T) {
	for _, temperature := range []float64{0.2, 1, 5} {
		c := smallConfig(KindAttentionRowNorm)
		c.Temperature = temperature
		set, codes := trained(t, c, testCodes, testDim)
		in := inputs(set, codes)
		up := upstream(testCodes, testDim)
		g := mat.NewDense(testCodes, testDim, up)
		e, a, bt, w := matrix(in, "codes"), matrix(in, "mixer/a"), matrix(in, "mixer/b"), matrix(in, "feature/w")
		x, dy := chain(a, bt, e), chain(g, w.T())
		length, q := in[lengthPath].Data[0], math.Sqrt(1+temperature*temperature)
		y, dx, dLength := mat.NewDense(testCodes, testDim, nil), mat.NewDense(testCodes, testDim, nil), 0.0
		for i := range testCodes {
			row, upper := x.RawRowView(i), dy.RawRowView(i)
			n := dot(row, row) + temperature*temperature*length*length
			along := dot(row, upper)
			for j := range row {
				y.Set(i, j, length*q*row[j]/math.Sqrt(n))
				dx.Set(i, j, length*q/math.Sqrt(n)*(upper[j]-row[j]*along/n))
			}
			dLength += q * dot(row, row) / math.Pow(n, 1.5) * along
		}
		gradtest.Close(t, "usable codes", c.Usable(set, codes), chain(y, w).RawMatrix().Data, 1e-12)
		dT := chain(a.T(), dx) // of Bᵀ E
		checkGradients(t, c, in, up, map[string]*mat.Dense{
			"mixer/a":   chain(dx, e.T(), bt.T()),
			"mixer/b":   chain(dT, e.T()),
			lengthPath:  mat.NewDense(1, 1, []float64{dLength}),
			"feature/w": chain(y.T(), g),
			"codes":     chain(bt.T(), dT),
		})
	}
}

// The temperature goes from rows of equal length to the low-rank mixer.
func TestRowNormTemperature(t *testing.T) {
	c := smallConfig(KindAttentionRowNorm)
	set, codes := trained(t, c, testCodes, testDim)
	length := float64(set[lengthPath].Data[0])
	c.FeatureMap, c.Temperature = false, 1e-6
	for i, x := range mat.NewDense(testCodes, testDim, c.Usable(set, codes)).RawMatrix().Data {
		if i%testDim == 0 {
			row := c.Usable(set, codes)[i : i+testDim]
			if size := math.Sqrt(dot(row, row)); math.Abs(size-math.Abs(length)) > 1e-6 {
				t.Errorf("row %d has length %g, want %g (%g)", i/testDim, size, length, x)
			}
		}
	}
	c.Temperature = 1e6
	plain := c
	plain.Kind = KindLowRank
	gradtest.Close(t, "a high temperature", c.Usable(set, codes), plain.Usable(set, codes), 1e-9)
}

// Targets beyond the greatest length keep their direction.
func TestRowNormPlacesLongTargets(t *testing.T) {
	c := smallConfig(KindAttentionRowNorm)
	c.Rank, c.FeatureMap = testDim, false
	set, codes := trained(t, c, testCodes, testDim)
	target := weights.Normal(testRand(), 1e3, 1, testDim)
	if _, err := c.Place(set, codes, []int{4}, target.Data); err != nil {
		t.Fatal(err)
	}
	got, want := c.Usable(set, codes)[4*testDim:5*testDim], toFloat64(target.Data)
	most := rowNormMixer{}.most(c, float64(set[lengthPath].Data[0]))
	if size := math.Sqrt(dot(got, got)); math.Abs(size-nearlyMost*most) > 1e-4 {
		t.Errorf("the code has length %g, want %g", size, nearlyMost*most)
	}
	unit(got)
	unit(want)
	gradtest.Close(t, "direction", got, want, 1e-5)
}
