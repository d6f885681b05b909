package radius

import (
	"fmt"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

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
