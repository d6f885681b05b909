package eval

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Memorised tells copies of training pictures from new pictures: both are nearer to some
// training picture than pictures of other origin, but only copies are nearer than real
// pictures that were held out of training.
type Memorised struct {
	Threshold float64 // percentile of the held-out distances
	Share     float64 // of the samples nearer than the threshold; percentile / 100 is expected of new pictures
}

// CompareNearest compares the distances of samples to their nearest training picture with
// those of held-out pictures: the share of samples below the given percentile (between 0
// and 100) of the held-out distances. It fails on an empty list and on distances that are
// not numbers.
func CompareNearest(samples, held []float64, percentile float64) (Memorised, error) {
	if !(percentile > 0 && percentile < 100) {
		return Memorised{}, fmt.Errorf("percentile %g does not divide distances: use a number between 0 and 100", percentile)
	}
	if len(samples) == 0 || len(held) == 0 {
		return Memorised{}, fmt.Errorf("%d samples and %d held-out pictures cannot be compared: give at least one of each",
			len(samples), len(held))
	}
	if slices.ContainsFunc(samples, math.IsNaN) || slices.ContainsFunc(held, math.IsNaN) {
		return Memorised{}, errors.New("a distance to the nearest picture is not a number")
	}
	threshold, nearer := Percentile(held, percentile), 0
	for _, distance := range samples {
		if distance < threshold {
			nearer++
		}
	}
	return Memorised{Threshold: threshold, Share: float64(nearer) / float64(len(samples))}, nil
}

// Percentile interpolates linearly between the order statistics of values, of which there
// is at least one.
func Percentile(values []float64, percentile float64) float64 {
	return quantile(slices.Sorted(slices.Values(values)), percentile/100)
}

// DisjointPairs draws pairs of the numbers 0 to n-1, at most the given number, no number
// twice: scores of such pairs are independent, so the standard error of their mean is
// their deviation over the root of their number. Equal arguments give equal pairs.
func DisjointPairs(n, most int, seed uint64) [][2]int {
	order := rand.New(rand.NewPCG(seed, 3)).Perm(n)
	pairs := make([][2]int, min(n/2, most))
	for i := range pairs {
		pairs[i] = [2]int{order[2*i], order[2*i+1]}
	}
	return pairs
}
