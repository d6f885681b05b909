package eval

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var (
	// Student (1908), hours of sleep gained with two drugs; R's data set sleep.
	sleepA = []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	sleepB = []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	// Darwin's maize, height differences in eighths of an inch, from Fisher,
	// The Design of Experiments (1935), section 17.
	maize = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	// Hollander and Wolfe (1973), p. 29, depression scores; the example of
	// R's wilcox.test.
	depressionA = []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	depressionB = []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
)

func TestPairedAgainstPublishedValues(t *testing.T) {
	// R: t.test(extra ~ group, sleep, paired = TRUE) prints t = -4.0621,
	// p-value = 0.002833, interval -2.4598858 -0.7001142, mean -1.58.
	got, err := Paired(sleepA, sleepB)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean", got.MeanDifference, -1.58, 1e-12)
	near(t, "t", got.T, -4.0621, 5e-5)
	near(t, "p", got.P, 0.002833, 5e-7)
	near(t, "low", got.Low, -2.4598858, 5e-8)
	near(t, "high", got.High, -0.7001142, 5e-8)

	// Fisher gives the mean 20.933, t = 2.148 and p = 4.970 %.
	got, err = Paired(maize, make([]float64, len(maize)))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean", got.MeanDifference, 20.933, 5e-5)
	near(t, "t", got.T, 2.148, 5e-4)
	near(t, "p", got.P, 0.04970, 5e-6)
	if got.N != 15 {
		t.Errorf("n = %d", got.N)
	}
}

func TestPairedWithOneDegreeOfFreedom(t *testing.T) {
	// With two pairs t is Cauchy: p = 1 - 2 atan(|t|) / pi, and the 97.5 %
	// quantile is tan(0.475 pi). Differences 1e6 + 1 and 1e6 - 1: t = 1e6.
	got, err := Paired([]float64{1e6 + 1, 1e6 - 1}, []float64{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "t", got.T, 1e6, 1e-12)
	near(t, "p", got.P/(2*math.Atan(1e-6)/math.Pi), 1, 1e-9)
	near(t, "high", got.High-1e6, math.Tan(0.475*math.Pi), 1e-7)
}

func TestPairedEdges(t *testing.T) {
	same, err := Paired([]float64{1, 2}, []float64{1, 2})
	if err != nil || same.P != 1 || same.T != 0 || same.Low != 0 || same.High != 0 {
		t.Errorf("%+v, %v", same, err)
	}
	shifted, err := Paired([]float64{1, 2}, []float64{2, 3})
	if err != nil || shifted.P != 0 || !math.IsInf(shifted.T, -1) || shifted.Low != -1 {
		t.Errorf("%+v, %v", shifted, err)
	}
	_, err = Paired([]float64{1}, []float64{2})
	fails(t, err, "at least 2 pairs, not 1")
	_, err = Paired([]float64{1, 2}, []float64{2})
	fails(t, err, "2 and 1")
	_, err = Paired([]float64{1, math.NaN()}, []float64{2, 3})
	fails(t, err, "pair 1")
}

func TestMeanStd(t *testing.T) {
	mean, std := MeanStd([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	near(t, "mean", mean, 5, 1e-15)
	near(t, "std", std, math.Sqrt(32.0/7), 1e-15)
	if mean, std := MeanStd([]float64{3}); mean != 3 || !math.IsNaN(std) {
		t.Errorf("one value: %g, %g", mean, std)
	}
}

// Differences of thirds tie like whole numbers, though 1 - 2/3 is not 1/3 to the
// last bit.
func TestWilcoxonTiesAreExactUpToRounding(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	third := func(n int) float64 { return float64(n) / 3 }
	var whole, thirds [2][]float64
	for range 500 {
		for side := range whole {
			n := min(3, random.IntN(4)+random.IntN(2)*side)
			whole[side] = append(whole[side], float64(n))
			sum := 0.0
			for range n {
				sum += third(1)
			}
			thirds[side] = append(thirds[side], sum)
		}
	}
	want, err := Wilcoxon(whole[0], whole[1])
	if err != nil {
		t.Fatal(err)
	}
	got, err := Wilcoxon(thirds[0], thirds[1])
	if err != nil || got != want {
		t.Errorf("thirds give %+v, %v; whole numbers %+v", got, err, want)
	}
	if got, err = Wilcoxon([]float64{1 - third(2), 5}, []float64{third(1), 2}); err != nil || got.N != 1 {
		t.Errorf("a pair that is equal but for rounding counts: %+v, %v", got, err)
	}
}

func TestWilcoxonAgainstPublishedValues(t *testing.T) {
	// SciPy's documentation of scipy.stats.wilcoxon: statistic 24, p-value
	// 0.041259765625 for Darwin's maize.
	got, err := Wilcoxon(maize, make([]float64, len(maize)))
	if err != nil || !got.Exact || got.WMinus != 24 || got.WPlus != 96 || got.N != 15 {
		t.Errorf("%+v, %v", got, err)
	}
	near(t, "p", got.P, 0.041259765625, 1e-15)

	// R's wilcox.test example: V = 40, one-sided p-value = 0.01953 = 10/512.
	got, err = Wilcoxon(depressionA, depressionB)
	if err != nil || !got.Exact || got.WPlus != 40 {
		t.Errorf("%+v, %v", got, err)
	}
	near(t, "p", got.P, 20.0/512, 1e-15)

	// R: wilcox.test on sleep, paired, which has a tie and a zero: V = 0,
	// p-value = 0.009091. In tenths of hours the tie is exact.
	tenths := func(hours []float64) []float64 {
		out := make([]float64, len(hours))
		for i, h := range hours {
			out[i] = math.Round(10 * h)
		}
		return out
	}
	got, err = Wilcoxon(tenths(sleepA), tenths(sleepB))
	if err != nil || got.Exact || got.WPlus != 0 || got.WMinus != 45 || got.N != 9 {
		t.Errorf("%+v, %v", got, err)
	}
	near(t, "p", got.P, 0.009091, 5e-7)
}

func TestExactWilcoxonAgainstEnumeration(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 10 {
		a := make([]float64, 9)
		for i := range a {
			a[i] = random.NormFloat64() + 0.3
		}
		got, err := Wilcoxon(a, make([]float64, len(a)))
		if err != nil || !got.Exact {
			t.Fatal(got, err)
		}
		// All sign patterns of ranks 1 to 9, by how far W+ is from 22.5.
		extreme := 0
		for signs := range 1 << 9 {
			sum := 0.0
			for rank := 1; rank <= 9; rank++ {
				if signs>>(rank-1)&1 == 1 {
					sum += float64(rank)
				}
			}
			if math.Abs(sum-22.5) >= math.Abs(got.WPlus-22.5) {
				extreme++
			}
		}
		near(t, "p", got.P, float64(extreme)/(1<<9), 1e-15)
	}
}

func TestWilcoxonApproximationMeetsTheExactDistribution(t *testing.T) {
	a := make([]float64, 26)
	for i := range a {
		a[i] = float64(i + 1)
		if i%3 == 0 {
			a[i] = -a[i]
		}
	}
	got, err := Wilcoxon(a, make([]float64, len(a)))
	if err != nil || got.Exact || got.WPlus+got.WMinus != 26*27/2 {
		t.Fatalf("%+v, %v", got, err)
	}
	near(t, "p", got.P, exactSignedRank(26, int(got.WMinus)), 2e-3)
	if got.P < 0.05 || got.P > 0.5 {
		t.Errorf("p = %g is not a telling case", got.P)
	}
}

func TestWilcoxonEdges(t *testing.T) {
	got, err := Wilcoxon([]float64{1, 2}, []float64{1, 2})
	if err != nil || got.P != 1 || got.N != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	// W+ = W-: the continuity correction may not turn p above 1.
	if got, _ := Wilcoxon([]float64{1, -1}, []float64{0, 0}); got.P != 1 || got.Exact {
		t.Errorf("%+v", got)
	}
	_, err = Wilcoxon([]float64{1}, nil)
	fails(t, err, "1 and 0")
}

func TestBootstrap(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	a, b := make([]float64, 400), make([]float64, 400)
	for i := range a {
		b[i] = 10 * random.NormFloat64()
		a[i] = b[i] + 0.3 + random.NormFloat64()
	}
	low, high, err := Bootstrap(a, b, 4000, 1)
	if err != nil {
		t.Fatal(err)
	}
	// With 400 pairs the interval is that of the t test, up to sampling noise.
	paired, err := Paired(a, b)
	if err != nil {
		t.Fatal(err)
	}
	width := paired.High - paired.Low
	near(t, "low", (low-paired.Low)/width, 0, 0.05)
	near(t, "high", (high-paired.High)/width, 0, 0.05)

	again, _, _ := Bootstrap(a, b, 4000, 1)
	other, _, _ := Bootstrap(a, b, 4000, 2)
	if again != low || other == low {
		t.Errorf("seed 1 gave %g and %g, seed 2 gave %g", low, again, other)
	}
	_, _, err = Bootstrap(nil, nil, 10, 1)
	fails(t, err, "at least one pair")
	_, _, err = Bootstrap(a, b, 0, 1)
	fails(t, err, "one resample")
	_, _, err = Bootstrap(a, b[1:], 10, 1)
	fails(t, err, "400 and 399")
}

func TestQuantile(t *testing.T) {
	// R: quantile(1:10, c(0.025, 0.5, 1)) is 1.225, 5.5, 10.
	values := []float64{3, 1, 2, 5, 4, 6, 10, 9, 8, 7}
	slices.Sort(values)
	near(t, "2.5 %", quantile(values, 0.025), 1.225, 1e-15)
	near(t, "median", quantile(values, 0.5), 5.5, 1e-15)
	near(t, "maximum", quantile(values, 1), 10, 0)
	near(t, "single", quantile([]float64{4}, 0.975), 4, 0)
}
