package nn

import (
	"slices"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// subpixelConvolution computes a 4 x 4 convolution of stride 2 and padding 1, whose
// transpose doubles an image, by Winograd tiles: as a 3 x 3 convolution between the
// small image and one with the pixels of each 2 x 2 square as channels.
type subpixelConvolution struct {
	convolution
	small winogradConvolution // from out to 4·in channels
}

func newSubpixelConvolution(c convolution) subpixelConvolution {
	axis := func(t taps) taps {
		return taps{in: t.out, out: t.out, kernel: 3, stride: 1, dilation: 1, before: 1}
	}
	small := convolution{images: c.images, layers: c.layers, in: c.out, out: 4 * c.in, groups: c.groups, rows: axis(c.rows),
		cols: axis(c.cols)}
	return subpixelConvolution{c, winogradConvolution{small, memo{}}}
}

func (c subpixelConvolution) fits() bool {
	for _, t := range []taps{c.rows, c.cols} {
		if t.kernel != 4 || t.stride != 2 || t.dilation != 1 || t.before != 1 || t.in != 2*t.out {
			return false
		}
	}
	return c.small.fits()
}

func (c subpixelConvolution) output(x, kernel *graph.Node) *graph.Node {
	return c.small.inputGradient(c.unshuffle(x), c.smallKernel(kernel))
}

func (c subpixelConvolution) inputGradient(adjoint, kernel *graph.Node) *graph.Node {
	return c.shuffle(c.small.output(adjoint, c.smallKernel(kernel)))
}

func (c subpixelConvolution) kernelGradient(x, adjoint *graph.Node) *graph.Node {
	k := c.small.kernelGradient(adjoint, c.unshuffle(x))     // [3, 3, out, 4·in]
	k = graph.Reshape(k, 9, c.out, 4, c.in)                  // [source pixel, out, place in the square, in]
	k = graph.TransposeAllAxes(k, 0, 2, 3, 1)                // [source pixel, place, in, out]
	k = gatherRows(graph.Reshape(k, 36, -1), subpixelTaps()) // [16, in · out]
	return graph.Reshape(k, 4, 4, c.in, c.out)
}

// subpixelTaps lists, for every tap of the 4 x 4 kernel, its place among the 9 source
// pixels times 4 places of the small one. Along an axis, tap i joins source y with pixel
// 2y + i - 1: place (i+1) mod 2 of the square at y + ⌊(i-1)/2⌋, which therefore reads
// the source at offset -⌊(i-1)/2⌋.
func subpixelTaps() []int32 {
	source := func(i int) int { return 1 - ((i+1)/2 - 1) } // 0, 1, 2 for offsets -1, 0, 1
	place := func(i int) int { return (i + 1) % 2 }
	var at []int32
	for i := range 4 {
		for j := range 4 {
			at = append(at, int32((source(i)*3+source(j))*4+place(i)*2+place(j)))
		}
	}
	return at
}

// smallKernel spreads the taps of kernel [4, 4, in, out] over [3, 3, out, 4·in].
func (c subpixelConvolution) smallKernel(kernel *graph.Node) *graph.Node {
	from := slices.Repeat([]int32{16}, 36) // row 16 is zero
	for tap, at := range subpixelTaps() {
		from[at] = int32(tap)
	}
	zero := graph.Zeros(kernel.Graph(), shapes.Make(kernel.DType(), 1, c.in*c.out))
	k := gatherRows(graph.Concatenate([]*graph.Node{graph.Reshape(kernel, 16, -1), zero}, 0), from)
	k = graph.TransposeAllAxes(graph.Reshape(k, 9, 4, c.in, c.out), 0, 3, 1, 2)
	return graph.Reshape(k, 3, 3, c.out, 4*c.in)
}

// shuffle turns squares as channels [images, H/2, W/2, layers · 4·in] into pixels
// [images, H, W, layers · in].
func (c subpixelConvolution) shuffle(x *graph.Node) *graph.Node {
	x = graph.Reshape(x, c.images*c.rows.out, c.cols.out, c.layers, 2, 2, c.in)
	return graph.Reshape(graph.TransposeAllAxes(x, 0, 3, 1, 4, 2, 5), c.images, c.rows.in, c.cols.in, c.layers*c.in)
}

func (c subpixelConvolution) unshuffle(x *graph.Node) *graph.Node {
	x = graph.Reshape(x, c.images*c.rows.out, 2, c.cols.out, 2, c.layers, c.in)
	return graph.Reshape(graph.TransposeAllAxes(x, 0, 2, 4, 1, 3, 5), c.images, c.rows.out, c.cols.out, c.layers*4*c.in)
}
