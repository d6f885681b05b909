package nn

import (
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// phase is the part of an input axis with one residue modulo the stride: the
// taps that reach it, in the order in which they read the adjoint of the
// output, and the reading itself.
type phase struct {
	taps  []int
	reads taps
}

// phases splits the input axis of a convolution by its stride. All phases have
// ⌈in/stride⌉ elements; the last may reach beyond the axis.
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

// interleave assembles the gradient [images, H, W, layers · in] of the input from
// its phases, each of as many elements over stride². Phases that no tap reaches
// are zero and not asked for.
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

// concatenate joins along the last axis.
func concatenate(parts []*graph.Node) *graph.Node {
	if len(parts) == 1 {
		return parts[0]
	}
	return graph.Concatenate(parts, -1)
}
