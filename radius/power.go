package radius

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// power is r = δ^α, family (3): k = α in ratio mode, αδ^(α-1) in the unit
// modes, where α < 1 diverges as the gap closes (hence the cap on k). A learned
// exponent is α = 0.5 + sigmoid(raw).
var power = family{
	kind: Power, hasScalar: true,
	check: func(c Config) error {
		if c.Scalar.Use == Learned && (c.Scalar.Value <= 0.5 || c.Scalar.Value >= 1.5) {
			return fmt.Errorf("radius.scalar.value: a learned power must start between 0.5 and 1.5, got %g", c.Scalar.Value)
		}
		return nil
	},
	squash: func(raw *Node) *Node { return AddScalar(Sigmoid(raw), 0.5) },
	unsquash: func(alpha float64) float64 {
		share := alpha - 0.5
		return math.Log(share / (1 - share))
	},
	radial: &radial{
		value:      Pow,
		slope:      func(delta, alpha *Node) *Node { return Mul(alpha, Pow(delta, AddScalar(alpha, -1))) },
		elasticity: func(delta, alpha *Node) *Node { return Mul(alpha, OnesLike(delta)) },
	},
}
