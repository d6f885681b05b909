package radius

import (
	"fmt"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// mahalanobis is family (5), r = √(Dᵀ A D) with a positive semi-definite metric
// A = diag(a²) + F Fᵀ that starts at the identity.
var mahalanobis = family{
	kind: Mahalanobis,
	check: func(c Config) error {
		switch c.Metric {
		case "diagonal", "full":
			return nil
		case "low-rank":
			if c.Rank < 1 {
				return fmt.Errorf("radius.rank: %d must be at least 1", c.Rank)
			}
			return nil
		}
		return fmt.Errorf("radius.metric: unknown metric %q, use diagonal, low-rank or full", c.Metric)
	},
	variables: func(c Config, d, _, _ int) weights.Set { return c.firstMetric(d) },
	learned:   func(c Config) bool { return c.Learned },
	measure: func(c Config, in Inputs, difference, _ *Node) (r, gradient *Node) {
		diagonal, factor := c.metric(in.Vars)
		return mahalanobisNorm(difference, diagonal, factor)
	},
}

// mahalanobisNorm returns r [N,1] and dr/dd = A d / r [N,d] for non-zero rows, with
// diagonal [d] or [N,d] and factor [d,m]; either may be nil.
func mahalanobisNorm(d, diagonal, factor *Node) (r, gradient *Node) {
	var pulled *Node // Ad
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
	squared := ReduceAndKeep(Mul(d, pulled), ReduceSum, -1) // dᵀAd
	// A semi-definite metric may not see D at all; such rows pull nothing.
	seen := GreaterThan(squared, ZerosLike(squared))
	r = Sqrt(Where(seen, squared, OnesLike(squared)))
	gradient = Where(BroadcastToDims(seen, d.Shape().Dimensions...), Div(pulled, r), ZerosLike(d))
	return Where(seen, r, ZerosLike(r)), gradient
}

// metricPath is the directory of a and F: fixed metrics are stored, never trained.
func (c Config) metricPath() string {
	if c.Learned {
		return "radius"
	}
	return "state/metric"
}

func (c Config) firstMetric(d int) weights.Set {
	diagonal, factor := c.metricPath()+"/diagonal", c.metricPath()+"/factor"
	switch c.Metric {
	case "full":
		return weights.Set{factor: weights.Eye(d)}
	case "low-rank": // F small, so that the identity dominates
		low := weights.Normal(weights.Rand(uint64(d), "radius/factor"), 0.01, d, c.Rank)
		return weights.Set{diagonal: weights.Full(1, d), factor: low}
	}
	return weights.Set{diagonal: weights.Full(1, d)}
}

// metric returns a [d] and F [d,m]; either may be nil.
func (c Config) metric(v weights.Vars) (diagonal, factor *Node) {
	v = v.In("%s", c.metricPath())
	diagonal, factor = v.Find("diagonal"), v.Find("factor")
	if c.Metric == "full" && factor != nil {
		// Only the lower triangle of L counts: A = L Lᵀ stays a Cholesky factor.
		mask := ConvertDType(LowerTriangular(factor.Graph(), factor.Shape().Dimensions[0]), factor.DType())
		factor = Mul(factor, mask)
	}
	return diagonal, factor
}
