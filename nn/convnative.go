package nn

import "github.com/gomlx/gomlx/core/graph"

// nativeConvolution uses the backend's own convolution. The gradients are
// written out because the derived ones refuse stride with dilation and loop
// over the groups; they are the forms compilers recognise.
type nativeConvolution struct{ convolution }

var imageAxes = graph.ConvolveAxesConfig{
	InputBatch: 0, InputSpatial: []int{1, 2}, InputChannels: 3,
	KernelSpatial: []int{0, 1}, KernelInputChannels: 2, KernelOutputChannels: 3,
	OutputBatch: 0, OutputSpatial: []int{1, 2}, OutputChannels: 3,
}

func both(f func(t taps) int, c convolution) []int { return []int{f(c.rows), f(c.cols)} }

func (c convolution) strides() []int   { return both(func(t taps) int { return t.stride }, c) }
func (c convolution) dilations() []int { return both(func(t taps) int { return t.dilation }, c) }

// paddings returns before and after of both axes.
func (c convolution) paddings(pads func(t taps) (before, after int)) [][2]int {
	var p [2][2]int
	p[0][0], p[0][1] = pads(c.rows)
	p[1][0], p[1][1] = pads(c.cols)
	return p[:]
}

func (c nativeConvolution) output(x, kernel *graph.Node) *graph.Node {
	pads := c.paddings(func(t taps) (int, int) {
		return t.before, t.stride*(t.out-1) + t.dilation*(t.kernel-1) + 1 - t.in - t.before
	})
	return graph.ConvGeneral(x, kernel, imageAxes, c.strides(), pads, nil, c.dilations(), c.groups, 1)
}

// inputGradient convolves the adjoint, with zeros between its elements where
// the convolution had a stride, with the kernel turned round.
func (c nativeConvolution) inputGradient(adjoint, kernel *graph.Node) *graph.Node {
	axes := imageAxes
	if c.groups == 1 {
		axes.KernelInputChannels, axes.KernelOutputChannels = 3, 2
	} else { // [kh, kw, in/groups, groups, out/groups] -> [kh, kw, out/groups, groups · in/groups]
		kernel = graph.Reshape(kernel, c.rows.kernel, c.cols.kernel, c.in/c.groups, c.groups, c.out/c.groups)
		kernel = graph.Reshape(graph.TransposeAllAxes(kernel, 0, 1, 4, 3, 2), c.rows.kernel, c.cols.kernel, c.out/c.groups, c.in)
	}
	pads := c.paddings(func(t taps) (int, int) {
		return t.dilation*(t.kernel-1) - t.before, t.in - 1 + t.before - t.stride*(t.out-1)
	})
	return graph.ConvGeneral(adjoint, graph.Reverse(kernel, 0, 1), axes, nil, pads, c.strides(), c.dilations(), c.groups, 1)
}

// kernelGradient convolves the input with the adjoint: stride and dilation
// change places, channels become the batch and the batch is summed over.
func (c nativeConvolution) kernelGradient(x, adjoint *graph.Node) *graph.Node {
	axes := graph.ConvolveAxesConfig{
		InputBatch: 3, InputSpatial: []int{1, 2}, InputChannels: 0,
		KernelSpatial: []int{1, 2}, KernelInputChannels: 0, KernelOutputChannels: 3,
		OutputBatch: 2, OutputSpatial: []int{0, 1}, OutputChannels: 3,
	}
	if c.groups > 1 { // [B, H, W, groups, in/groups] -> [groups · B, H, W, in/groups]: the sum stays within a group
		x = graph.Reshape(x, c.images, c.rows.in, c.cols.in, c.groups, c.in/c.groups)
		x = graph.Reshape(graph.TransposeAllAxes(x, 3, 0, 1, 2, 4), c.groups*c.images, c.rows.in, c.cols.in, c.in/c.groups)
	}
	pads := c.paddings(func(t taps) (int, int) {
		return t.before, t.dilation*(t.kernel-1) + t.stride*(t.out-1) + 1 - t.in - t.before
	})
	return graph.ConvGeneral(x, adjoint, axes, c.dilations(), pads, nil, c.strides(), c.groups, 1)
}
