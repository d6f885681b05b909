package radius

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// pNormSmoothing makes |d| differentiable at 0 for p = 1: √(d²+ε²) - ε.
const pNormSmoothing = 1e-3

// pNorm is family (8), r = (Σ|dᵢ|^p)^(1/p). It is not radial: the pull is along
// its gradient, not along s.
var pNorm = family{
	kind: PNorm, hasScalar: true, least: 1,
	check: func(c Config) error {
		switch s := c.Scalar; {
		case s.Use == Learned:
			return fmt.Errorf("radius.scalar.use: the exponent of p-norm cannot be learned, schedule it instead")
		case s.Use != Fixed && (math.IsInf(s.Value, 1) || math.IsInf(s.End, 1)):
			return fmt.Errorf("radius.scalar: an infinite p can only be fixed")
		}
		return nil
	},
	measure: measurePNorm,
}

// measurePNorm returns r [N,1] and dr/dd [N,d] for non-zero rows of d [N,d].
// theta is the exponent; fixed exponents 1 and +Inf take their own forms.
func measurePNorm(c Config, _ Inputs, d, theta *Node) (r, gradient *Node) {
	magnitude := Abs(d)
	fixed := c.Scalar.Use == Fixed
	switch {
	case fixed && c.Scalar.Value == 1:
		root := Sqrt(AddScalar(Square(d), pNormSmoothing*pNormSmoothing))
		return ReduceAndKeep(AddScalar(root, -pNormSmoothing), ReduceSum, -1), Div(d, root)
	case fixed && math.IsInf(c.Scalar.Value, 1):
		r = ReduceAndKeep(magnitude, ReduceMax, -1)
		// A subgradient: the largest coordinates share it equally.
		top := ConvertDType(Equal(magnitude, r), d.DType())
		share := Div(top, ReduceAndKeep(top, ReduceSum, -1))
		return r, Mul(Sign(d), share)
	}
	largest := ReduceAndKeep(magnitude, ReduceMax, -1)
	largest = Where(GreaterThan(largest, ZerosLike(largest)), largest, OnesLike(largest))
	scaled := Div(magnitude, largest)
	positive := GreaterThan(scaled, ZerosLike(scaled)) // keeps p close to 1 from producing 0^0
	base := Where(positive, scaled, OnesLike(scaled))
	raised := Where(positive, Pow(base, theta), ZerosLike(scaled))
	norm := Pow(ReduceAndKeep(raised, ReduceSum, -1), Reciprocal(theta)) // in units of largest
	slope := Where(positive, Pow(Div(base, norm), AddScalar(theta, -1)), ZerosLike(scaled))
	return Mul(norm, largest), Mul(Sign(d), slope)
}

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
	variables: func(c Config, d, _ int) weights.Set { return c.firstMetric(d) },
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

// adaptiveFloor bounds the precision of a dimension without quantization error.
const adaptiveFloor = 1e-6

const precisionPath = "state/precision"

// adaptive is family (10): a diagonal Mahalanobis radius whose precision follows
// the quantization errors, A ← (1-β)A + β/(mean D² + floor), for all codes
// together ([d]) or for each code ([K,d]). Gradients treat A as a constant.
var adaptive = family{
	kind: Adaptive,
	check: func(c Config) error {
		if !(c.Decay > 0 && c.Decay <= 1) {
			return fmt.Errorf("radius.decay: %g must be in (0, 1]", c.Decay)
		}
		return nil
	},
	variables: func(c Config, d, k int) weights.Set {
		if c.PerCode {
			return weights.Set{precisionPath: weights.Full(1, k, d)}
		}
		return weights.Set{precisionPath: weights.Full(1, d)}
	},
	measure: func(c Config, in Inputs, difference, _ *Node) (r, gradient *Node) {
		precision := in.Vars.Get(precisionPath)
		if c.PerCode {
			precision = Gather(precision, ExpandAxes(in.Index, -1)) // [N,d]
		}
		return mahalanobisNorm(difference, StopGradient(Sqrt(precision)), nil)
	},
	updates: adaptPrecision,
}

func adaptPrecision(c Config, in Inputs, latent, code *Node) map[string]*Node {
	old := in.Vars.Get(precisionPath)
	squared := StopGradient(Square(Sub(code, latent)))
	var estimate *Node
	if c.PerCode {
		k := old.Shape().Dimensions[0]
		hits := OneHot(in.Index, k, squared.DType())                    // [N,K]
		sums := DotGeneral(hits, []int{0}, nil, squared, []int{0}, nil) // [K,d]
		count := ExpandAxes(ReduceSum(hits, 0), -1)                     // [K,1]
		mean := Div(sums, MaxScalar(count, 1))                          // [K,d]
		estimate = Reciprocal(AddScalar(mean, adaptiveFloor))           // [K,d]
		seen := BroadcastToDims(GreaterThan(count, ZerosLike(count)), old.Shape().Dimensions...)
		estimate = Where(seen, estimate, old) // codes without hits keep their precision
	} else {
		estimate = Reciprocal(AddScalar(ReduceMean(squared, 0), adaptiveFloor))
	}
	next := Add(MulScalar(old, 1-c.Decay), MulScalar(estimate, c.Decay))
	return map[string]*Node{in.Vars.Path(precisionPath): next}
}
