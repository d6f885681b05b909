package nn

import "github.com/gomlx/gomlx/core/graph"

// Product returns x w [n,m] for x [n,c] and w [c,m]. The derived gradient of w
// contracts the leading axes of x and of the adjoint, for which the embedded
// engine transposes both tall matrices; transposing x alone is a third of the
// work. The gradient of x needs no transposition and stays the derived one.
func Product(x, w *graph.Node) *graph.Node {
	var adjoint *graph.Node
	w = graph.IdentityWithCustomGradient(w, func(_, _ *graph.Node) *graph.Node { return adjoint })
	return graph.IdentityWithCustomGradient(graph.Dot(x, w).Product(), func(_, v *graph.Node) *graph.Node {
		adjoint = graph.Dot(graph.Transpose(x, 0, 1), v).Product() // xᵀ v
		return v
	})
}
