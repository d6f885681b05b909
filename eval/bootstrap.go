package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Bootstrap returns the 95 % percentile interval of the mean of a - b, from
// this many resamples (1000 or more is usual) of the pairs with replacement.
// The same arguments give the same interval. It fails on lists of different
// length, on none, on values that are not finite and on less than one
// resample.
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

// quantile interpolates linearly between the order statistics of sorted
// values (type 7 of Hyndman and Fan).
func quantile(sorted []float64, p float64) float64 {
	position := p * float64(len(sorted)-1)
	below := int(math.Floor(position))
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (position-float64(below))*(sorted[above]-sorted[below])
}
