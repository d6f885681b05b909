package nn

import (
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// patchConvolution writes the pixels under the kernel side by side and
// multiplies once: [pixels, kh·kw·in] times [kh·kw·in, out].
type patchConvolution struct {
	convolution
	made memo // patches, reused by the kernel's gradient
}

func (c patchConvolution) patches(x *graph.Node) *graph.Node {
	return c.made.of(x, func() *graph.Node { return patches(x, c.layers, c.rows, c.cols) })
}

func (c patchConvolution) output(x, kernel *graph.Node) *graph.Node {
	p := c.patches(x)
	y := graph.Dot(p, graph.Reshape(kernel, -1, c.out)).Product()
	return graph.Reshape(y, c.images, c.rows.out, c.cols.out, c.layers*c.out)
}

// kernelGradient is patchesᵀ · adjoint. The engine transposes tall matrices slowly: the
// narrower of the two is turned.
func (c patchConvolution) kernelGradient(x, adjoint *graph.Node) *graph.Node {
	p := c.patches(x)
	v := graph.Reshape(adjoint, -1, c.out)
	var gradient *graph.Node // [kh·kw·in, out]
	if c.out < p.Shape().Dimensions[1] {
		gradient = graph.Transpose(graph.Dot(graph.Transpose(v, 0, 1), p).Product(), 0, 1)
	} else {
		gradient = graph.Dot(graph.Transpose(p, 0, 1), v).Product()
	}
	return graph.Reshape(gradient, c.rows.kernel, c.cols.kernel, c.in, c.out)
}

// inputGradient computes each phase (row mod stride, column mod stride) of the input as
// a stride-1 convolution of the adjoint with the taps that reach it.
func (c patchConvolution) inputGradient(adjoint, kernel *graph.Node) *graph.Node {
	turned := graph.Reshape(graph.TransposeAllAxes(kernel, 0, 1, 3, 2), -1, c.out, c.in) // [kh·kw, out, in]
	return c.interleave(adjoint, func(rows, cols phase) *graph.Node {
		var part []int32
		for _, i := range rows.taps {
			for _, j := range cols.taps {
				part = append(part, int32(i*c.cols.kernel+j))
			}
		}
		k := graph.Gather(turned, graph.ExpandAxes(graph.Const(adjoint.Graph(), part), -1))
		return graph.Dot(patches(adjoint, c.layers, rows.reads, cols.reads), graph.Reshape(k, -1, c.in)).Product()
	})
}

// patches returns the pixels under the kernel, a row an output,
// [images·H'·W'·layers, kh·kw·channels], of x [images, H, W, layers·channels].
func patches(x *graph.Node, layers int, rows, cols taps) *graph.Node {
	x = pad(x, rows, cols)
	d := x.Shape().Dimensions
	images, height, width, channels := d[0], d[1], d[2], d[3]/layers
	x = graph.Reshape(x, -1, channels)
	if rows.kernel == 1 && cols.kernel == 1 && rows.stride == 1 && cols.stride == 1 {
		return x
	}
	// Neighbours in memory move in one piece.
	piece, pieces := cols.kernel, 1
	if cols.dilation > 1 || layers > 1 {
		piece, pieces = 1, cols.kernel
	}
	starts := make([]int32, 0, images*rows.out*cols.out*layers*rows.kernel*pieces)
	for image := range images {
		for y := range rows.out {
			for x := range cols.out {
				for layer := range layers {
					for i := range rows.kernel {
						line := (image*height + y*rows.stride + i*rows.dilation) * width
						for j := range pieces {
							starts = append(starts, int32((line+x*cols.stride+j*cols.dilation)*layers+layer))
						}
					}
				}
			}
		}
	}
	at := graph.Const(x.Graph(), tensors.FromFlatDataAndDimensions(starts, len(starts), 1))
	p := graph.GatherSlices(x, []int{0}, at, []int{piece}, true)
	return graph.Reshape(p, -1, rows.kernel*cols.kernel*channels)
}

// pad leaves of x [images, H, W, …], with zeros around, the pixels that the taps read.
func pad(x *graph.Node, rows, cols taps) *graph.Node {
	axis := func(t taps) graph.PadAxis { return graph.PadAxis{Start: t.before, End: t.after()} }
	return padAxes(x, graph.PadAxis{}, axis(rows), axis(cols), graph.PadAxis{})
}

// padAxes pads with zeros, or crops where negative: the embedded engine moves whole
// lines, whereas it slices element by element.
func padAxes(x *graph.Node, axes ...graph.PadAxis) *graph.Node {
	for _, a := range axes {
		if a != (graph.PadAxis{}) {
			return graph.Pad(x, graph.ScalarZero(x.Graph(), x.DType()), axes...)
		}
	}
	return x
}

// phase is the part of an input axis with one residue modulo the stride: the taps that
// reach it, in the order of their reads of the output's adjoint, and these reads.
type phase struct {
	taps  []int
	reads taps
}

// phases splits the input axis by its stride, each of ⌈in/stride⌉ elements; the last may
// reach beyond the axis.
func (t taps) phases() []phase {
	all := make([]phase, t.stride)
	for r := range all {
		p := phase{reads: taps{in: t.out, out: t.phaseLength(), stride: 1, dilation: 1}}
		var offsets []int // element q of the phase reads adjoint q + offset
		for i := t.kernel - 1; i >= 0; i-- {
			if at := r + t.before - i*t.dilation; at%t.stride == 0 {
				p.taps, offsets = append(p.taps, i), append(offsets, at/t.stride)
			}
		}
		p.reads.kernel = len(offsets)
		if len(offsets) > 0 {
			p.reads.before = -offsets[0]
		}
		if len(offsets) > 1 {
			p.reads.dilation = offsets[1] - offsets[0]
		}
		all[r] = p
	}
	return all
}

func (t taps) phaseLength() int { return (t.in + t.stride - 1) / t.stride }

// interleave assembles the gradient [images, H, W, layers · in] of the input from its
// phases. Phases that no tap reaches are zero and not asked for.
func (c convolution) interleave(adjoint *graph.Node, build func(rows, cols phase) *graph.Node) *graph.Node {
	height, width, depth := c.rows.phaseLength(), c.cols.phaseLength(), c.layers*c.in
	var lines []*graph.Node // a row phase each: [images, H/stride, W · depth]
	for _, rows := range c.rows.phases() {
		var pixels []*graph.Node
		for _, cols := range c.cols.phases() {
			var p *graph.Node
			if len(rows.taps) == 0 || len(cols.taps) == 0 {
				p = graph.Zeros(adjoint.Graph(), shapes.Make(adjoint.DType(), c.images, height, width, depth))
			} else {
				p = graph.Reshape(build(rows, cols), c.images, height, width, depth)
			}
			pixels = append(pixels, p)
		}
		lines = append(lines, graph.Reshape(concatenate(pixels), c.images, height, width*c.cols.stride*depth))
	}
	x := graph.Reshape(concatenate(lines), c.images, height*c.rows.stride, width*c.cols.stride, depth)
	return padAxes(x, graph.PadAxis{}, graph.PadAxis{End: c.rows.in - height*c.rows.stride},
		graph.PadAxis{End: c.cols.in - width*c.cols.stride}, graph.PadAxis{})
}

func concatenate(parts []*graph.Node) *graph.Node {
	if len(parts) == 1 {
		return parts[0]
	}
	return graph.Concatenate(parts, -1)
}
