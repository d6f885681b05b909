package nn

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/weights"
)

// withGradients returns value, a function of inputs, with derivatives written by hand:
// gradients maps the adjoint of value to one node an input. Nothing inside value is
// differentiated, and a gradient nobody asks for is never executed.
//
// In the backward pass a fused operation is replaced by a second graph: here a zero
// that depends on the inputs and hands them their gradients. The engine follows every
// input to its origin, so random numbers have to pass through StopGradient.
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

func onEmbeddedEngine(x *graph.Node) bool { return !weights.Compiles(x.Graph().Backend()) }

// layout is the order of a batch between the blocks of a network:
// [images, H, W, layers · channels] with images · layers = batch.
//
// Compilers get one layer, the usual [B, H, W, C]. On the embedded engine the batch is
// the layers of one image, [1, H, W, B·C]: pixels are long rows, which move faster,
// and values per image and channel are one row, which it combines many times faster.
type layout struct {
	images, layers int
}

func layoutFor(x *graph.Node) layout {
	if onEmbeddedEngine(x) {
		return layout{images: 1, layers: x.Shape().Dim(0)}
	}
	return layout{images: x.Shape().Dim(0), layers: 1}
}

// enter brings x [B, H, W, C] into the layout.
func (l layout) enter(x *graph.Node) *graph.Node {
	if l.layers == 1 {
		return x
	}
	d := x.Shape().Dimensions
	x = graph.TransposeAllAxes(graph.Reshape(x, d[0], d[1]*d[2], d[3]), 1, 0, 2)
	return graph.Reshape(x, 1, d[1], d[2], d[0]*d[3])
}

func (l layout) leave(x *graph.Node) *graph.Node {
	if l.layers == 1 {
		return x
	}
	d := x.Shape().Dimensions
	x = graph.TransposeAllAxes(graph.Reshape(x, d[1]*d[2], l.layers, d[3]/l.layers), 1, 0, 2)
	return graph.Reshape(x, l.layers, d[1], d[2], d[3]/l.layers)
}

// within applies a block that needs the layout to x [B, H, W, C].
func within(x *graph.Node, build func(x *graph.Node, l layout) *graph.Node) *graph.Node {
	l := layoutFor(x)
	return l.leave(build(l.enter(x), l))
}

// InPrecision converts a network's input to the precision of its activations:
// dtypes.BFloat16, or zero for that of x. The embedded engine is slower in half
// precision and keeps that of x.
func InPrecision(x *graph.Node, dtype dtypes.DType) *graph.Node {
	if dtype == dtypes.InvalidDType || dtype == dtypes.BFloat16 && onEmbeddedEngine(x) && !halfEverywhere {
		return x
	}
	return graph.ConvertDType(x, dtype)
}

// halfEverywhere lets tests compute in half precision on any engine.
var halfEverywhere bool
