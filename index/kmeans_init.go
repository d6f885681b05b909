package index

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	plusPlusLimit   = 64   // centres up to which k passes over the data are cheap
	parallelLimit   = 4096 // centres up to which the candidates' k-means++ is cheap
	samplingRounds  = 5    // of k-means||
	seedingBlock    = 1024
	candidatesRatio = 0.5 // candidates drawn in a round, relative to k
)

type seeding struct {
	clustering
	rng *rand.Rand
}

func (s *seeding) centers(ctx context.Context, init KMeansInit) ([]float32, error) {
	if init == InitAuto {
		init = InitPlusPlus
		switch {
		case s.k > parallelLimit:
			init = InitTree
		case s.k > plusPlusLimit:
			init = InitParallel
		}
	}
	var chosen []float32
	var err error
	switch init {
	case InitSample:
		for _, i := range s.rng.Perm(s.n)[:min(s.k, s.n)] {
			chosen = append(chosen, s.row(i)...)
		}
	case InitParallel:
		chosen, err = s.parallel(ctx)
	case InitTree:
		chosen, err = s.tree(ctx)
	default:
		chosen, err = s.plusPlus(ctx, s.x, nil, nil)
	}
	if err != nil {
		return nil, err
	}
	// Every distinct row is chosen already: repeat them.
	for i := 0; len(chosen) < s.k*s.d; i++ {
		chosen = append(chosen, chosen[i*s.d:(i+1)*s.d]...)
	}
	return chosen, nil
}

func (s *seeding) row(i int) []float32 { return s.x[i*s.d : (i+1)*s.d] }

// plusPlus extends chosen [m,d] to k rows drawn from points [n,d] with probability
// proportional to weight (1 if weights is nil) times squared distance from the rows
// chosen so far. It returns fewer if every point coincides with a chosen one.
func (s *seeding) plusPlus(ctx context.Context, points []float32, weights []float64, chosen []float32) ([]float32, error) {
	n := len(points) / s.d
	if weights == nil {
		weights = slices.Repeat([]float64{1}, n)
	}
	// Squared distances from the nearest chosen row; the first draw goes by weight alone.
	apart := slices.Repeat([]float64{1}, n)
	if len(chosen) > 0 {
		codes, err := NewCodes(chosen, len(chosen)/s.d, s.d)
		if err != nil {
			return nil, err
		}
		index, dist := make([]uint32, n), make([]float32, n)
		if err := codes.nearest(ctx, points, n, index, dist, s.workers); err != nil {
			return nil, fmt.Errorf("k-means stopped while choosing its first centres: %w", err)
		}
		for i, v := range dist {
			apart[i] = float64(v)
		}
	}
	fresh := len(chosen) == 0
	for len(chosen) < s.k*s.d {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("k-means stopped while choosing its first centres: %w", err)
		}
		i := s.draw(n, func(i int) float64 { return float64(weights[i] * apart[i]) })
		if i < 0 {
			return chosen, nil
		}
		next := points[i*s.d : (i+1)*s.d]
		chosen = append(chosen, next...)
		forBlocks(n, seedingBlock, s.workers, func(from, to int) {
			for j := from; j < to; j++ {
				gap := SquaredDistance(points[j*s.d:(j+1)*s.d], next)
				if fresh || gap < apart[j] {
					apart[j] = gap
				}
			}
		})
		fresh = false
	}
	return chosen, nil
}

// draw returns i in [0, n) with probability proportional to mass(i), -1 without mass.
func (s *seeding) draw(n int, mass func(i int) float64) int {
	var total float64
	for i := range n {
		total += mass(i)
	}
	target := s.rng.Float64() * total
	last := -1
	for i := range n {
		m := mass(i)
		if m <= 0 {
			continue
		}
		last = i
		if target -= m; target < 0 {
			break
		}
	}
	return last
}

// parallel is k-means||: rounds of draws, then weighted k-means++ among the candidates.
func (s *seeding) parallel(ctx context.Context) ([]float32, error) {
	candidates := slices.Clone(s.row(s.rng.IntN(s.n)))
	fresh := candidates
	owner := make([]uint32, s.n) // nearest candidate of each row
	apart := slices.Repeat([]float32{float32(math.Inf(1))}, s.n)
	index, dist := make([]uint32, s.n), make([]float32, s.n)
	for round := 0; ; round++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("k-means stopped while choosing its first centres: %w", err)
		}
		codes, err := NewCodes(fresh, len(fresh)/s.d, s.d)
		if err != nil {
			return nil, err
		}
		codes.Nearest(s.x, s.n, index, dist, s.workers)
		known := uint32((len(candidates) - len(fresh)) / s.d)
		var total float64
		for i := range apart {
			if dist[i] < apart[i] {
				apart[i], owner[i] = dist[i], known+index[i]
			}
			total += float64(apart[i])
		}
		if round == samplingRounds || total == 0 {
			break
		}
		rate := max(1, candidatesRatio*float64(s.k)) / total
		before := len(candidates)
		for i := range apart {
			if s.rng.Float64() < rate*float64(apart[i]) {
				candidates = append(candidates, s.row(i)...)
			}
		}
		fresh = candidates[before:]
		if len(fresh) == 0 {
			break
		}
	}
	weights := make([]float64, len(candidates)/s.d)
	for _, c := range owner {
		weights[c]++
	}
	chosen, err := s.plusPlus(ctx, candidates, weights, nil)
	if err != nil || len(chosen) == s.k*s.d {
		return chosen, err
	}
	return s.plusPlus(ctx, s.x, nil, chosen)
}
