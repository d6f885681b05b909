package nn

import (
	"github.com/gomlx/gomlx/core/graph"
)

// Patches cuts images x [B, H, W, C] into squares of a side: [B, H/side, W/side, side·side·C], the values of a square in
// the order of row, column and channel.
func Patches(x *graph.Node, side int) *graph.Node {
	d := x.Shape().Dimensions
	h, w := d[1]/side, d[2]/side
	x = graph.Reshape(x, d[0]*h, side, w, side*d[3])
	return graph.Reshape(graph.TransposeAllAxes(x, 0, 2, 1, 3), d[0], h, w, side*side*d[3])
}

// Unpatched is the inverse of [Patches]: squares [B, h, w, side·side·C] become images [B, h·side, w·side, C].
func Unpatched(x *graph.Node, side int) *graph.Node {
	d := x.Shape().Dimensions
	channels := d[3] / (side * side)
	x = graph.Reshape(x, d[0]*d[1], d[2], side, side*channels)
	return graph.Reshape(graph.TransposeAllAxes(x, 0, 2, 1, 3), d[0], d[1]*side, d[2]*side, channels)
}
