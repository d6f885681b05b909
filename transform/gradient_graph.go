package transform

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// withGradient builds forward(inputs) with a hand-written gradient: backward
// takes the adjoint of the result and returns those of the inputs, in order. The
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

// product returns x w [n,m] for x [n,c] and w [c,m]. The derived gradient of w
// contracts the leading axes of x and v, for which the embedded engine transposes
// both tall matrices; transposing x alone is a third of the work. The gradient of
// x needs no transposition and stays the derived one.
func product(x, w *Node) *Node {
	var adjoint *Node
	w = IdentityWithCustomGradient(w, func(_, v *Node) *Node { return adjoint })
	return IdentityWithCustomGradient(Dot(x, w).Product(), func(_, v *Node) *Node {
		adjoint = Dot(Transpose(x, 0, 1), v).Product() // xᵀ v
		return v
	})
}
