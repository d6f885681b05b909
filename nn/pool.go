package nn

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
)

// MaxPool returns the largest values [B, H', W', C] under a square window of x
// [B, H, W, C], without padding. A last window that reaches beyond the image is cut off
// with ceil (ceil_mode elsewhere) and left out without it. Of values that tie, the
// first in reading order has the gradient.
func MaxPool(x *graph.Node, window, stride int, ceil bool) *graph.Node {
	if x.Rank() != 4 {
		panic(fmt.Errorf("nn: pooling wants an image [batch, height, width, channels], not %s", x.Shape()))
	}
	d := x.Shape().Dimensions
	batch, height, width, channels := d[0], d[1], d[2], d[3]
	x = maxAlong(graph.Reshape(x, batch*height, width, channels), window, stride, ceil)
	width = x.Shape().Dim(1)
	x = maxAlong(graph.Reshape(x, batch, height, width*channels), window, stride, ceil)
	return graph.Reshape(x, batch, x.Shape().Dim(1), width, channels)
}

// maxAlong pools the middle axis of x [A, size, B].
func maxAlong(x *graph.Node, window, stride int, ceil bool) *graph.Node {
	size := x.Shape().Dim(1)
	if window > size {
		panic(fmt.Errorf("nn: a pooling window of %d is larger than the %d pixels it is applied to", window, size))
	}
	out := (size-window)/stride + 1
	// As elsewhere, a window must begin inside the image.
	if ceil && (size-window)%stride != 0 && out*stride < size {
		out++
	}
	offsets := make([]*graph.Node, window)
	for i := range offsets {
		offsets[i] = strided(x, i, stride, out)
	}
	highest := offsets[0]
	for _, o := range offsets[1:] {
		highest = graph.Max(highest, o)
	}
	return withGradients(highest, []*graph.Node{x}, func(adjoint *graph.Node) []*graph.Node {
		var sum *graph.Node
		zero := graph.ScalarZero(x.Graph(), x.DType())
		for i, o := range offsets {
			// The first maximum takes the gradient; later ones get none.
			won := graph.Equal(o, highest)
			spread := graph.PadAxis{Start: i, Interior: stride - 1, End: size - i - (out-1)*stride - 1}
			sum = plus(sum, padAxes(graph.Where(won, adjoint, zero), graph.PadAxis{}, spread, graph.PadAxis{}))
			adjoint = graph.Where(won, zero, adjoint)
		}
		return []*graph.Node{sum}
	})
}

// strided returns elements start, start+stride, … of the middle axis of x [A, size, B].
// Beyond its end it repeats the last element, which changes no maximum.
func strided(x *graph.Node, start, stride, count int) *graph.Node {
	d := x.Shape().Dimensions
	if !onEmbeddedEngine(x) {
		// A slice costs XLA nothing; indices would be constants as large as the image.
		inside := min(count, (d[1]-start+stride-1)/stride)
		part := graph.Slice(x, graph.AxisRange(), graph.AxisRange(start, start+(inside-1)*stride+1).Stride(stride), graph.AxisRange())
		if inside == count {
			return part
		}
		last := graph.Slice(x, graph.AxisRange(), graph.AxisRange(d[1]-1, d[1]), graph.AxisRange())
		return graph.Concatenate([]*graph.Node{part, last}, 1)
	}
	at := make([]int32, 0, d[0]*count)
	for a := range d[0] {
		for i := range count {
			at = append(at, int32(a*d[1]+min(start+i*stride, d[1]-1)))
		}
	}
	return graph.Reshape(gatherRows(graph.Reshape(x, -1, d[2]), at), d[0], count, d[2])
}
