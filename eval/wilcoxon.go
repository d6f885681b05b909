package eval

import (
	"cmp"
	"math"
	"slices"
)

// WilcoxonTest is the outcome of the signed-rank test.
type WilcoxonTest struct {
	N      int     `json:"n"`      // pairs that differ
	WPlus  float64 `json:"w_plus"` // rank sum of the pairs with a > b
	WMinus float64 `json:"w_minus"`
	P      float64 `json:"p"`     // two-sided
	Exact  bool    `json:"exact"` // from the exact distribution, not the normal one
}

// sameValue is the share of the largest value by which equal differences may
// differ after rounding.
const sameValue = 1e-13

// exactWilcoxonPairs is the largest number of pairs tested exactly.
const exactWilcoxonPairs = 25

// Wilcoxon tests whether the differences of paired a and b are symmetric
// around zero, by the signed-rank test. Pairs that are equal are left out and
// equal differences share their ranks; numbers that differ by rounding alone, as
// 1 - 2/3 and 1/3 do, are equal. P is exact for at most 25 pairs
// without either; otherwise it is the normal approximation with corrections
// for ties and continuity. Without any differing pair P is 1. It fails on
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

// exactSignedRank returns the two-sided probability of a rank sum of at most
// smaller, out of ranks 1 to n with signs by fair coins.
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
