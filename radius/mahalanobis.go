package radius

import (
	"fmt"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// mahalanobis is family (5), r = √(Dᵀ A D) with a positive semi-definite metric
// A = diag(a²) + F Fᵀ.
var mahalanobis = family{
	kind:      Mahalanobis,
	check:     checkMetric,
	variables: func(c Config, d, _ int) weights.Set { return c.firstMetric(d) },
	learned:   func(c Config) bool { return c.Learned },
	measure: func(c Config, in Inputs, difference, _ *Node) (r, gradient *Node) {
		diagonal, factor := c.metric(in.Vars)
		return mahalanobisNorm(difference, diagonal, factor)
	},
}

func checkMetric(c Config) error {
	switch c.Metric {
	case "diagonal", "full":
	case "low-rank":
		if c.Rank < 1 {
			return fmt.Errorf("radius.rank: %d must be at least 1", c.Rank)
		}
	default:
		return fmt.Errorf("radius.metric: unknown metric %q, use diagonal, low-rank or full", c.Metric)
	}
	return nil
}

// mahalanobisNorm returns r [N,1] and dr/dd = A d / r [N,d] for non-zero rows.
// diagonal is [d] or, with one metric a row, [N,d]; factor is [d,m]; either may
// be nil.
func mahalanobisNorm(d, diagonal, factor *Node) (r, gradient *Node) {
	var squared, pulled *Node // dᵀAd and Ad
	if diagonal != nil {
		if diagonal.Rank() == 1 {
			diagonal = ExpandLeftToRank(diagonal, 2)
		}
		pulled = Mul(d, Square(diagonal))
	}
	if factor != nil {
		low := Dot(d, factor).Product()                               // [N,m]
		back := DotGeneral(low, []int{1}, nil, factor, []int{1}, nil) // [N,d]
		if pulled == nil {
			pulled = back
		} else {
			pulled = Add(pulled, back)
		}
	}
	squared = ReduceAndKeep(Mul(d, pulled), ReduceSum, -1)
	// A semi-definite metric may not see D at all; such rows pull nothing.
	seen := GreaterThan(squared, ZerosLike(squared))
	r = Sqrt(Where(seen, squared, OnesLike(squared)))
	gradient = Where(BroadcastToDims(seen, d.Shape().Dimensions...), Div(pulled, r), ZerosLike(d))
	return Where(seen, r, ZerosLike(r)), gradient
}

// firstMetric starts every metric at the identity: the Euclidean radius.
func (c Config) firstMetric(d int) weights.Set {
	set := weights.Set{}
	path := "state/metric" // fixed metrics are stored, never trained
	if c.Learned {
		path = "radius"
	}
	switch c.Metric {
	case "full":
		set[path+"/factor"] = weights.Eye(d)
	case "low-rank":
		set[path+"/diagonal"] = weights.Full(1, d)
		factor := weights.New(d, c.Rank)
		rng := weights.Rand(uint64(d), "radius/factor")
		for i := range factor.Data { // small, so that the identity dominates
			factor.Data[i] = float32(rng.NormFloat64() * 0.01)
		}
		set[path+"/factor"] = factor
	default:
		set[path+"/diagonal"] = weights.Full(1, d)
	}
	return set
}

// metric returns a [d] and F [d,m]; either may be nil.
func (c Config) metric(v weights.Vars) (diagonal, factor *Node) {
	if c.Learned {
		v = v.In("radius")
	} else {
		v = v.In("state/metric")
	}
	diagonal, factor = v.Find("diagonal"), v.Find("factor")
	if c.Metric == "full" && factor != nil {
		// Only the lower triangle of L counts: A = L Lᵀ stays a Cholesky factor.
		mask := ConvertDType(LowerTriangular(factor.Graph(), factor.Shape().Dimensions[0]), factor.DType())
		factor = Mul(factor, mask)
	}
	return diagonal, factor
}
