package eval

import (
	"fmt"
	"math"

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

// MeanStd returns the mean of values and their sample standard deviation
// (divisor n - 1). The deviation of fewer than two values, and the mean of
// none, are NaN.
func MeanStd(values []float64) (mean, std float64) {
	if len(values) < 2 {
		return stat.Mean(values, nil), math.NaN()
	}
	return stat.MeanStdDev(values, nil)
}

// differences returns a - b after checking that the values pair up.
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

// Paired tests whether a and b, measured on the same n >= 2 things, differ in
// the mean. Where all differences are equal the interval has no width: p is
// then 1 for differences of zero and 0 otherwise. It fails on lists of
// different or insufficient length and on values that are not finite.
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
