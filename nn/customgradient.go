package nn

import (
	"slices"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// withGradients returns value, a function of inputs, with its derivatives
// written by hand: gradients maps the adjoint of value to one node an input.
// Nothing inside value is differentiated, so it may use operations without a
// gradient, and a gradient nobody asks for is never executed.
//
// The engine lets a fused operation name a second graph that stands for it in
// the backward pass. That graph is here a zero that depends on the inputs and
// hands them their gradients; in the forward pass nothing uses it. The engine
// then follows every input to its origin: data made by operations without a
// gradient, such as random numbers, has to pass through StopGradient.
func withGradients(value *graph.Node, inputs []*graph.Node, gradients func(adjoint *graph.Node) []*graph.Node) *graph.Node {
	standIn := func() *graph.Node {
		var byInput []*graph.Node
		link := graph.ScalarZero(value.Graph(), value.DType())
		for i, x := range inputs {
			x = graph.IdentityWithCustomGradient(x, func(_, _ *graph.Node) *graph.Node { return byInput[i] })
			link = graph.Add(link, graph.ConvertDType(firstElement(x), value.DType()))
		}
		// Not a product with zero, which an infinite input would make NaN.
		link = graph.Where(graph.Const(value.Graph(), false), link, graph.ScalarZero(value.Graph(), value.DType()))
		zero := graph.BroadcastToShape(link, value.Shape())
		return graph.IdentityWithCustomGradient(zero, func(_, adjoint *graph.Node) *graph.Node {
			byInput = gradients(adjoint)
			return adjoint
		})
	}
	var zero *graph.Node
	result, fused := graph.InternalFusedOpCaller(
		func() *graph.Node { return graph.Identity(value) },
		func() *graph.Node { zero = standIn(); return zero }, true)
	if !fused { // fusion is switched off in the environment
		return graph.Add(graph.StopGradient(value), zero)
	}
	return result
}

func firstElement(x *graph.Node) *graph.Node {
	if x.IsScalar() {
		return x
	}
	return graph.Reshape(graph.Slice(x, slices.Repeat([]graph.SliceAxisSpec{graph.AxisElem(0)}, x.Rank())...))
}

// onEmbeddedEngine tells whether x is computed by the pure Go backend, whose
// fast operations are not those of a compiler.
func onEmbeddedEngine(x *graph.Node) bool { return !weights.Compiles(x.Graph().Backend()) }
