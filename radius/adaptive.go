package radius

import (
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// adaptiveFloor keeps a dimension that is quantized without error from getting
// an infinite precision.
const adaptiveFloor = 1e-6

// Family (10) is a diagonal Mahalanobis radius whose precision follows the
// quantization errors: A ← (1-β)A + β/(mean D² + floor), for all codes together
// ([d]) or for each code ([K,d]). It is state, not a parameter: gradients treat
// it as a constant.
func (c Config) adaptiveInit(d, k int) weights.Set {
	if c.PerCode {
		return weights.Set{"state/precision": weights.Full(1, k, d)}
	}
	return weights.Set{"state/precision": weights.Full(1, d)}
}

// adaptiveDiagonal returns √A for each row of a batch: [d], or [N,d] per code.
func (c Config) adaptiveDiagonal(in Inputs) *Node {
	precision := in.Vars.Get("state/precision")
	if c.PerCode {
		precision = Gather(precision, ExpandAxes(in.Index, -1))
	}
	return Sqrt(precision)
}

// Updates returns new values of the radius's state after a batch, by variable
// path; empty for families without state. latent, code [N,d].
func (c Config) Updates(in Inputs, latent, code *Node) map[string]*Node {
	if c.Kind != Adaptive {
		return nil
	}
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
