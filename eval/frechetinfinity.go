package eval

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"

	"github.com/gritvq/gritvq/internal/parallel"
)

// infinitySizes is the number of set sizes that a Frechet distance is extrapolated from.
const infinitySizes = 8

// FrechetInfinity extrapolates the Frechet distance of feature vectors a [n, d] and b
// [m, d] to infinitely many vectors (Chong and Forsyth, 2020). The distance of finite
// sets of N vectors is too large by about c/N, where c depends on the distributions, so
// that even rankings can be wrong; the line through distances of subsets over 1/N meets
// 1/N = 0 at the distance without this bias.
//
// Both sets are drawn in the same 8 sizes, from half of the smaller set to all of it,
// evenly spaced in 1/N, each size from the ones before and further vectors in random
// order; the reference set of the publication is whole at every size, which leaves its
// own bias in. The bias is linear in 1/N only where N is well above d: with fewer than 2d
// vectors a result means little, and it fails below 32. Equal arguments give equal
// results; ctx ends the work.
func FrechetInfinity(ctx context.Context, a, b []float32, d int, seed uint64) (float64, error) {
	if err := featureRows(a, b, d, 32); err != nil {
		return 0, fmt.Errorf("extrapolating the Frechet distance: %w", err)
	}
	random := rand.New(rand.NewPCG(seed, 2))
	orderA, orderB := random.Perm(len(a)/d), random.Perm(len(b)/d)
	return extrapolateFrechet(ctx, a, b, d, orderA, orderB, evenInverses(min(len(orderA), len(orderB)), infinitySizes))
}

// evenInverses returns sizes from n/2 to n, evenly spaced in 1/size.
func evenInverses(n, count int) []int {
	sizes := make([]int, count)
	for k := range sizes {
		sizes[k] = int(float64(n)/(2-float64(k)/float64(count-1)) + 0.5)
	}
	return sizes
}

// extrapolateFrechet fits a line over 1/N to the distances of the first N vectors in the
// given orders, for ascending sizes N, and returns its value at 0.
func extrapolateFrechet(ctx context.Context, a, b []float32, d int, orderA, orderB, sizes []int) (float64, error) {
	sides := [2][]Gaussian{}
	err := parallel.Each(2, 2, func(side int) (err error) {
		rows, order := a, orderA
		if side == 1 {
			rows, order = b, orderB
		}
		sides[side], err = growing(ctx, rows, d, order, sizes)
		return err
	})
	if err != nil {
		return 0, err
	}
	inverses, distances := make([]float64, len(sizes)), make([]float64, len(sizes))
	err = parallel.Each(len(sizes), 0, func(k int) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		inverses[k] = 1 / float64(sizes[k])
		distances[k], err = FrechetDistance(sides[0][k], sides[1][k])
		return err
	})
	if err != nil {
		return 0, err
	}
	atInfinity, _ := stat.LinearRegression(inverses, distances, nil, false)
	return atInfinity, nil
}

// growing returns the Gaussians of the first sizes[k] rows in the given order.
func growing(ctx context.Context, rows []float32, d int, order, sizes []int) ([]Gaussian, error) {
	const batch = 256
	var features Features
	var gaussians []Gaussian
	for _, size := range sizes {
		for features.count < size {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			var chosen []float32
			for _, i := range order[features.count:min(features.count+batch, size)] {
				chosen = append(chosen, rows[i*d:(i+1)*d]...)
			}
			if err := features.Add(chosen, d); err != nil {
				return nil, err
			}
		}
		g, err := features.Gaussian()
		if err != nil {
			return nil, err
		}
		gaussians = append(gaussians, g)
	}
	return gaussians, nil
}
