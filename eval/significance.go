package eval

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// PairedTest is the outcome of Student's t test on paired values.
type PairedTest struct {
	N              int     `json:"n"`
	MeanDifference float64 `json:"mean_difference"` // mean of a - b
	Low            float64 `json:"low"`             // 95 % interval of the mean difference
	High           float64 `json:"high"`
	T              float64 `json:"t"` // with N - 1 degrees of freedom
	P              float64 `json:"p"` // two-sided
}

// MeanStd returns the mean of values and their sample standard deviation (divisor n - 1).
// The deviation of fewer than two values and the mean of none are NaN.
func MeanStd(values []float64) (mean, std float64) {
	if len(values) < 2 {
		return stat.Mean(values, nil), math.NaN()
	}
	return stat.MeanStdDev(values, nil)
}

func differences(a, b []float64) ([]float64, error) {
	if len(a) != len(b) {
		return nil, fmt.Errorf("paired values need two lists of one length, not %d and %d", len(a), len(b))
	}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
		if math.IsNaN(d[i]) || math.IsInf(d[i], 0) {
			return nil, fmt.Errorf("pair %d, %g and %g, has no finite difference", i, a[i], b[i])
		}
	}
	return d, nil
}

// Paired tests whether a and b, measured on the same n >= 2 things, differ in the mean.
// Where all differences are equal the interval has no width, and p is 1 for differences
// of zero, else 0. It fails on lists of different or insufficient length and on values
// that are not finite.
func Paired(a, b []float64) (PairedTest, error) {
	d, err := differences(a, b)
	if err != nil {
		return PairedTest{}, err
	}
	n := len(d)
	if n < 2 {
		return PairedTest{}, fmt.Errorf("a paired test needs at least 2 pairs, not %d", n)
	}
	mean, std := stat.MeanStdDev(d, nil)
	result := PairedTest{N: n, MeanDifference: mean, Low: mean, High: mean, P: 1}
	standardError := std / math.Sqrt(float64(n))
	if standardError == 0 {
		if mean != 0 {
			result.T, result.P = math.Inf(int(math.Copysign(1, mean))), 0
		}
		return result, nil
	}
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
	result.T = mean / standardError
	// The lower tail keeps its digits where 1 - CDF would lose them.
	result.P = 2 * student.CDF(-math.Abs(result.T))
	half := student.Quantile(0.975) * standardError
	result.Low, result.High = mean-half, mean+half
	return result, nil
}

// WilcoxonTest is the outcome of the signed-rank test.
type WilcoxonTest struct {
	N      int     `json:"n"`      // pairs that differ
	WPlus  float64 `json:"w_plus"` // rank sum of the pairs with a > b
	WMinus float64 `json:"w_minus"`
	P      float64 `json:"p"`     // two-sided
	Exact  bool    `json:"exact"` // from the exact distribution, not the normal one
}

const (
	sameValue          = 1e-13 // share of the largest value that rounding may add to equal differences
	exactWilcoxonPairs = 25    // largest number of pairs tested exactly
)

// Wilcoxon tests whether the differences of paired a and b are symmetric around zero, by
// the signed-rank test. Equal pairs are left out and equal differences share their ranks;
// numbers that differ by rounding alone, as 1 - 2/3 and 1/3 do, are equal. P is exact for
// at most 25 pairs without either; otherwise it is the normal approximation with
// corrections for ties and continuity. Without any differing pair P is 1. It fails on
// lists of different length and on values that are not finite.
func Wilcoxon(a, b []float64) (WilcoxonTest, error) {
	d, err := differences(a, b)
	if err != nil {
		return WilcoxonTest{}, err
	}
	pairs := len(d)
	rounding := 0.0
	for i := range a {
		rounding = max(rounding, sameValue*math.Abs(a[i]), sameValue*math.Abs(b[i]))
	}
	d = slices.DeleteFunc(d, func(x float64) bool { return math.Abs(x) <= rounding })
	slices.SortFunc(d, func(x, y float64) int { return cmp.Compare(math.Abs(x), math.Abs(y)) })
	result := WilcoxonTest{N: len(d), P: 1}
	if result.N == 0 {
		return result, nil
	}
	ties := 0.0 // sum of t^3 - t over groups of t equal differences
	for start, end := 0, 0; start < len(d); start = end {
		for end = start; end < len(d) && math.Abs(d[end])-math.Abs(d[start]) <= rounding; end++ {
		}
		rank := float64(start+end+1) / 2 // mean of ranks start+1 to end
		for _, difference := range d[start:end] {
			if difference > 0 {
				result.WPlus += rank
			} else {
				result.WMinus += rank
			}
		}
		t := float64(end - start)
		ties += t*t*t - t
	}
	smaller := min(result.WPlus, result.WMinus)
	if ties == 0 && result.N == pairs && pairs <= exactWilcoxonPairs {
		result.Exact = true
		result.P = exactSignedRank(pairs, int(smaller))
		return result, nil
	}
	n := float64(result.N)
	mean := n * (n + 1) / 4
	variance := n*(n+1)*(2*n+1)/24 - ties/48
	z := max(0, mean-smaller-0.5) / math.Sqrt(variance)
	result.P = math.Erfc(z / math.Sqrt2)
	return result, nil
}

// exactSignedRank returns the two-sided probability of a rank sum of at most smaller, out
// of ranks 1 to n with random signs.
func exactSignedRank(n, smaller int) float64 {
	subsets := make([]float64, n*(n+1)/2+1) // by their sum
	subsets[0] = 1
	for rank := 1; rank <= n; rank++ {
		for sum := len(subsets) - 1; sum >= rank; sum-- {
			subsets[sum] += subsets[sum-rank]
		}
	}
	tail := 0.0
	for _, count := range subsets[:smaller+1] {
		tail += count
	}
	return min(1, 2*math.Ldexp(tail, -n))
}

// Bootstrap returns the 95 % percentile interval of the mean of a - b, from this many
// resamples (usually 1000 or more) of the pairs with replacement. Equal arguments give
// equal intervals. It fails on lists of different length, on none, on values that are not
// finite and on less than one resample.
func Bootstrap(a, b []float64, resamples int, seed uint64) (low, high float64, err error) {
	d, err := differences(a, b)
	if err != nil {
		return 0, 0, err
	}
	if len(d) == 0 || resamples < 1 {
		return 0, 0, fmt.Errorf("a bootstrap needs at least one pair and one resample, not %d and %d", len(d), resamples)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	means := make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for range d {
			sum += d[random.IntN(len(d))]
		}
		means[i] = sum / float64(len(d))
	}
	slices.Sort(means)
	return quantile(means, 0.025), quantile(means, 0.975), nil
}

// quantile interpolates linearly between order statistics (type 7 of Hyndman and Fan).
func quantile(sorted []float64, p float64) float64 {
	position := p * float64(len(sorted)-1)
	below := int(math.Floor(position))
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (position-float64(below))*(sorted[above]-sorted[below])
}
