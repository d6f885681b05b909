package eval

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/parallel"
)

// Manifold compares two sets of vectors by balls around them.
type Manifold struct {
	Precision float64 `json:"precision"` // share of samples inside the ball of some real vector: are they realistic?
	Recall    float64 `json:"recall"`    // share of real vectors inside the ball of some sample: are all kinds drawn?
	Density   float64 `json:"density"`   // balls of real vectors around a sample, over k; may exceed 1
	Coverage  float64 `json:"coverage"`  // share of real vectors whose ball holds a sample
}

// manifoldBlock is the number of vectors whose distances are in memory at a time.
const manifoldBlock = 512

// CompareManifolds returns precision and recall of samples [n, d] against real [m, d]
// (Kynkäänniemi et al., 2019), and density and coverage (Naeem et al., 2020). The ball of
// a vector reaches to its k-th nearest neighbour in its own set, the border included.
// Distances in float32 propose, those in float64 decide, so every machine gives one
// answer. It fails unless both sets have more than k whole, finite vectors, and when ctx
// ends.
func CompareManifolds(ctx context.Context, samples, real []float32, d, k int) (Manifold, error) {
	if k < 1 {
		return Manifold{}, fmt.Errorf("balls that reach to neighbour %d are not defined: use 1 or more", k)
	}
	if err := featureRows(samples, real, d, k+1); err != nil {
		return Manifold{}, err
	}
	n, m := len(samples)/d, len(real)/d
	sampleRadii, err := radii(samples, n, d, k)
	if err != nil {
		return Manifold{}, err
	}
	realRadii, err := radii(real, m, d, k)
	if err != nil {
		return Manifold{}, err
	}
	inReal, err := ballsAround(ctx, samples, n, real, m, d, realRadii)
	if err != nil {
		return Manifold{}, err
	}
	inSamples, err := ballsAround(ctx, real, m, samples, n, d, sampleRadii)
	if err != nil {
		return Manifold{}, err
	}
	covered, err := nearestDistances(samples, n, real, m, d)
	if err != nil {
		return Manifold{}, err
	}
	held, realistic := 0, 0
	for _, balls := range inReal {
		held += balls
		if balls > 0 {
			realistic++
		}
	}
	drawn, near := 0, 0
	for i, balls := range inSamples {
		if balls > 0 {
			drawn++
		}
		if covered[i] <= realRadii[i] {
			near++
		}
	}
	return Manifold{
		Precision: float64(realistic) / float64(n), Recall: float64(drawn) / float64(m),
		Density: float64(held) / float64(k*n), Coverage: float64(near) / float64(m),
	}, nil
}

// radii returns the squared distance of every row [n, d] to its k-th nearest other row.
func radii(rows []float32, n, d, k int) ([]float32, error) {
	finder, err := index.NewExact(index.Euclidean, rows, n, d)
	if err != nil {
		return nil, err
	}
	items, found := make([]uint32, n*(k+1)), make([]float32, n*(k+1))
	finder.Search(rows, n, k+1, items, found, index.SearchOptions{})
	squared := make([]float32, n)
	for i := range squared {
		squared[i] = found[i*(k+1)+k] // the nearest is the row itself, or its equal
	}
	return squared, nil
}

// nearestDistances returns the squared distance of every query [m, d] to the nearest of
// rows [n, d].
func nearestDistances(rows []float32, n int, queries []float32, m, d int) ([]float32, error) {
	finder, err := index.NewExact(index.Euclidean, rows, n, d)
	if err != nil {
		return nil, err
	}
	items, found := make([]uint32, m), make([]float32, m)
	finder.Search(queries, m, 1, items, found, index.SearchOptions{})
	return found, nil
}

// ballsAround counts for every row of x [n, d] the balls around rows of y [m, d], with
// squared radii [m], that hold it.
func ballsAround(ctx context.Context, x []float32, n int, y []float32, m, d int, radii []float32) ([]int, error) {
	lengths := make([]float32, m)
	for j := range lengths {
		row := y[j*d : (j+1)*d]
		lengths[j] = float32(index.Dot(row, row))
	}
	counts := make([]int, n)
	// A product is off by at most (d+2) u |x||y|, and |x||y| <= (|x|^2+|y|^2)/2.
	rounding := float32(d+8) * 0x1p-22
	err := parallel.Each((n+manifoldBlock-1)/manifoldBlock, 0, func(block int) error {
		first := block * manifoldBlock
		count := min(manifoldBlock, n-first)
		products := make([]float32, count*manifoldBlock)
		for start := 0; start < m; start += manifoldBlock {
			if err := ctx.Err(); err != nil {
				return err
			}
			others := min(manifoldBlock, m-start)
			index.Products(x[first*d:(first+count)*d], count, y[start*d:(start+others)*d], others, d, products[:count*others])
			for i := range count {
				row := x[(first+i)*d : (first+i+1)*d]
				own := float32(index.Dot(row, row))
				for j, product := range products[i*others : (i+1)*others] {
					at := start + j
					squared, margin := own+lengths[at]-2*product, rounding*(own+lengths[at])
					if squared-margin > radii[at] {
						continue
					}
					if squared+margin < radii[at] || float32(index.SquaredDistance(row, y[at*d:(at+1)*d])) <= radii[at] {
						counts[first+i]++
					}
				}
			}
		}
		return nil
	})
	return counts, err
}
