package nn

import "github.com/gomlx/gomlx/core/graph"

// layout is how a batch of images lies in memory between the blocks of a
// network: as [images, H, W, layers · channels] with images · layers = batch.
//
// Compilers get one layer: the usual [B, H, W, C]. On the embedded engine the
// whole batch are layers of one image, [1, H, W, B·C]: then pixels are long rows,
// which move faster, and values per image and channel, such as a mean, are a
// single row, which the engine adds and multiplies many times faster than one in
// the middle of an array.
type layout struct {
	images, layers int
}

// layoutFor is the layout for images x [B, H, W, C].
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

// leave is the inverse of enter.
func (l layout) leave(x *graph.Node) *graph.Node {
	if l.layers == 1 {
		return x
	}
	d := x.Shape().Dimensions
	x = graph.TransposeAllAxes(graph.Reshape(x, d[1]*d[2], l.layers, d[3]/l.layers), 1, 0, 2)
	return graph.Reshape(x, l.layers, d[1], d[2], d[3]/l.layers)
}

// within applies a block that works in the layout to x [B, H, W, C].
func within(x *graph.Node, build func(x *graph.Node, l layout) *graph.Node) *graph.Node {
	l := layoutFor(x)
	return l.leave(build(l.enter(x), l))
}
