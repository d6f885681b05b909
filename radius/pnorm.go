package radius

import (
	"fmt"
	"math"

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
