package radius

import (
	"fmt"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// adaptiveFloor keeps a dimension that is quantized without error from getting
// an infinite precision.
const adaptiveFloor = 1e-6

// adaptive is family (10): a diagonal Mahalanobis radius whose precision follows
// the quantization errors, A ← (1-β)A + β/(mean D² + floor), for all codes
// together ([d]) or for each code ([K,d]). It is state, not a parameter: gradients
// treat it as a constant.
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
			return weights.Set{"state/precision": weights.Full(1, k, d)}
		}
		return weights.Set{"state/precision": weights.Full(1, d)}
	},
	measure: func(c Config, in Inputs, difference, _ *Node) (r, gradient *Node) {
		return mahalanobisNorm(difference, StopGradient(c.adaptiveDiagonal(in)), nil)
	},
	updates: adaptPrecision,
}

// adaptiveDiagonal returns √A for each row of a batch: [d], or [N,d] per code.
func (c Config) adaptiveDiagonal(in Inputs) *Node {
	precision := in.Vars.Get("state/precision")
	if c.PerCode {
		precision = Gather(precision, ExpandAxes(in.Index, -1))
	}
	return Sqrt(precision)
}

// adaptPrecision returns the next precision after a batch.
func adaptPrecision(c Config, in Inputs, latent, code *Node) map[string]*Node {
	old := in.Vars.Get("state/precision")
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
	return map[string]*Node{in.Vars.Path("state/precision"): next}
}
