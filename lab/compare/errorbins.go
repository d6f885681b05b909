package compare

import "math"

// Error bins are spaced evenly on a logarithmic scale.
const (
	binsPerDecade = 12
	lowestDecade  = -5
	decades       = 7
)

// ErrorBins returns the edges of the bins of [Record].Errors: squared error of a row over the mean squared distance of
// a row from the mean of the data. Errors[i] counts rows from edge i-1 on, the first those below all edges.
func ErrorBins() []float64 {
	edges := make([]float64, decades*binsPerDecade+1)
	for i := range edges {
		edges[i] = math.Pow(10, lowestDecade+float64(i)/binsPerDecade)
	}
	return edges
}

// errorBin counts errors that are not numbers as the largest.
func errorBin(x float64) int {
	last := decades*binsPerDecade + 1
	if math.IsNaN(x) || math.IsInf(x, 1) {
		return last
	}
	if x <= 0 {
		return 0
	}
	at := math.Floor((math.Log10(x)-lowestDecade)*binsPerDecade) + 1
	return int(min(max(at, 0), float64(last)))
}
