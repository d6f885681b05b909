package nn

import . "github.com/gomlx/gomlx/core/graph"

// Product returns x w [n,m] for x [n,c] and w [c,m]. The derived gradient of w
// contracts the leading axes of x and of the adjoint, for which the embedded
// engine transposes both tall matrices; transposing x alone is a third of the
// work. The gradient of x needs no transposition and stays the derived one.
func Product(x, w *Node) *Node {
	var adjoint *Node
	w = IdentityWithCustomGradient(w, func(_, _ *Node) *Node { return adjoint })
	return IdentityWithCustomGradient(Dot(x, w).Product(), func(_, v *Node) *Node {
		adjoint = Dot(Transpose(x, 0, 1), v).Product() // xᵀ v
		return v
	})
}
