package eval

import (
	"math"
	"math/rand/v2"
)

const (
	exactDistanceRows   = 4096
	sampledDistanceRows = 1024
)

// MinPairwiseDistance returns the smallest Euclidean distance between two of
// the rows [k, d]. Up to k = 4096 it is exact. Above, 1024 rows drawn with a
// fixed seed are compared with all others, so the result is an upper bound
// that is the same in every run. It is +Inf for fewer than two rows and NaN
// where a value is not finite; it panics when rows does not have k*d values.
func MinPairwiseDistance(rows []float32, k, d int) float64 {
	values, finite := widen("MinPairwiseDistance", rows, k, d)
	if !finite {
		return math.NaN()
	}
	nearest := math.Inf(1)
	if k <= exactDistanceRows {
		for i := range k {
			for j := range i {
				nearest = closer(values[i*d:(i+1)*d], values[j*d:(j+1)*d], nearest)
			}
		}
		return math.Sqrt(nearest)
	}
	random := rand.New(rand.NewPCG(0, 0))
	for _, i := range random.Perm(k)[:sampledDistanceRows] {
		for j := range k {
			if i != j {
				nearest = closer(values[i*d:(i+1)*d], values[j*d:(j+1)*d], nearest)
			}
		}
	}
	return math.Sqrt(nearest)
}

// closer returns the smaller of the squared distance of a and b and limit,
// looking at no more of the vectors than that takes.
func closer(a, b []float64, limit float64) float64 {
	const stride = 16
	sum := 0.0
	for len(a) > stride {
		head, other := a[:stride], b[:stride]
		for i, value := range head {
			sum += (value - other[i]) * (value - other[i])
		}
		if sum >= limit {
			return limit
		}
		a, b = a[stride:], b[stride:]
	}
	for i, value := range a {
		sum += (value - b[i]) * (value - b[i])
	}
	return min(sum, limit)
}
