package transform

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// withGradient builds forward(inputs) with a hand-written gradient: backward
// takes the adjoint of the result and returns the inputs' adjoints, in order. The
// nodes that automatic differentiation derives from forward are left unused, and
// never run.
func withGradient(inputs []*Node, forward func(in []*Node) *Node, backward func(in []*Node, v *Node) []*Node) *Node {
	var adjoints []*Node
	wrapped := make([]*Node, len(inputs))
	for i, input := range inputs {
		wrapped[i] = IdentityWithCustomGradient(input, func(_, _ *Node) *Node { return adjoints[i] })
	}
	return IdentityWithCustomGradient(forward(wrapped), func(_, v *Node) *Node {
		adjoints = backward(wrapped, v)
		return v
	})
}
