package nn

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// ConvOptions say where a kernel is applied.
type ConvOptions struct {
	Stride   int       // step between outputs; 0 is 1
	Dilation int       // step between taps; 0 is 1
	Padding  [2][2]int // zeros before and after the rows, and the columns
	Groups   int       // independent parts of the input and output channels; 0 is 1

	native bool // use the engine's own convolution on the embedded engine too
	layers int  // see layout; 0 is 1; more only without groups
}

// SamePadding gives outputs of ⌈size/stride⌉; an even kernel has the larger half after.
func SamePadding(kernel, dilation int) [2][2]int {
	around := max(1, dilation) * (kernel - 1)
	return [2][2]int{{around / 2, around - around/2}, {around / 2, around - around/2}}
}

// Convolve applies kernel [kh, kw, in/groups, out] to x [B, H, W, in] and
// returns [B, H', W', out] with H' = ⌊(H + padding - dilation (kh-1) - 1) / stride⌋ + 1.
//
// Compilers get their own convolution. On the embedded engine, whose own is slow, every
// convolution and its gradients become matrix products: of Winograd tiles where they
// apply, else of patches.
func Convolve(x, kernel *graph.Node, o ConvOptions) *graph.Node {
	c := newConvolution(x.Shape().Dimensions, kernel.Shape().Dimensions, o)
	l := c.lowering(onEmbeddedEngine(x), x.DType())
	return withGradients(l.output(x, kernel), []*graph.Node{x, kernel}, func(adjoint *graph.Node) []*graph.Node {
		return []*graph.Node{l.inputGradient(adjoint, kernel), l.kernelGradient(x, adjoint)}
	})
}

// ConvolveTransposed is the transpose of Convolve with the same options, which maps
// height x width to H' x W': y [B, H', W', out] and kernel [kh, kw, in/groups, out]
// become [B, height, width, in].
func ConvolveTransposed(y, kernel *graph.Node, height, width int, o ConvOptions) *graph.Node {
	ks, ys := kernel.Shape().Dimensions, y.Shape().Dimensions
	c := newConvolution([]int{ys[0], height, width, ks[2] * max(1, o.Groups) * max(1, o.layers)}, ks, o)
	if ys[1] != c.rows.out || ys[2] != c.cols.out || ys[3] != c.out*c.layers {
		panic(fmt.Errorf("nn: a transposed convolution to %d x %d needs an input %d x %d x %d, not %v",
			height, width, c.rows.out, c.cols.out, c.out, ys[1:]))
	}
	l := c.lowering(onEmbeddedEngine(y), y.DType())
	return withGradients(l.inputGradient(y, kernel), []*graph.Node{y, kernel}, func(adjoint *graph.Node) []*graph.Node {
		return []*graph.Node{l.output(adjoint, kernel), l.kernelGradient(adjoint, y)}
	})
}

// convolver computes a convolution and, given the output's adjoint, its gradients. None
// of the three is differentiated further.
type convolver interface {
	output(x, kernel *graph.Node) *graph.Node
	inputGradient(adjoint, kernel *graph.Node) *graph.Node
	kernelGradient(x, adjoint *graph.Node) *graph.Node
}

// convolution is the geometry of all lowerings. Images are
// [images, H, W, layers · channels], see layout.
type convolution struct {
	images, layers  int
	in, out, groups int
	rows, cols      taps
	native          bool
}

// taps is one spatial axis: output y reads input stride·y + dilation·i - before for i
// in [0, kernel).
type taps struct {
	in, out                  int // sizes
	kernel, stride, dilation int
	before                   int // zeros before the input
}

// after is the number of zeros that the taps read after the input, or, where negative, of
// pixels that they do not read.
func (t taps) after() int { return t.stride*(t.out-1) + t.dilation*(t.kernel-1) + 1 - t.in - t.before }

func newConvolution(x, kernel []int, o ConvOptions) convolution {
	if len(x) != 4 || len(kernel) != 4 {
		panic(fmt.Errorf("nn: a convolution wants an image [batch, height, width, channels] and a kernel [height, width, in, out], "+
			"not %v and %v", x, kernel))
	}
	c := convolution{images: x[0], layers: max(1, o.layers), out: kernel[3], groups: max(1, o.Groups), native: o.native}
	c.in = x[3] / c.layers
	if c.in != kernel[2]*c.groups || c.out%c.groups != 0 {
		panic(fmt.Errorf("nn: a kernel %v in %d group(s) does not fit %d channels", kernel, c.groups, c.in))
	}
	axis := func(size, kernel int, padding [2]int) taps {
		t := taps{in: size, kernel: kernel, stride: max(1, o.Stride), dilation: max(1, o.Dilation), before: padding[0]}
		padded := size + padding[0] + padding[1]
		span := padded - t.dilation*(kernel-1) - 1
		if span < 0 {
			panic(fmt.Errorf("nn: a kernel of %d with dilation %d is larger than the %d padded pixels it is applied to", kernel, t.dilation, padded))
		}
		t.out = span/t.stride + 1
		return t
	}
	c.rows, c.cols = axis(x[1], kernel[0], o.Padding[0]), axis(x[2], kernel[1], o.Padding[1])
	return c
}

// lowering picks the fast way on the engine. Half precision is too coarse for Winograd's
// differences of large numbers.
func (c convolution) lowering(embedded bool, dtype dtypes.DType) convolver {
	tiled, subpixel := winogradConvolution{c, memo{}}, newSubpixelConvolution(c)
	switch {
	case c.native || !embedded:
		return nativeConvolution{c}
	case tiled.fits() && !dtype.IsHalfPrecision():
		return tiled
	case subpixel.fits() && !dtype.IsHalfPrecision():
		return subpixel
	case c.groups == 1:
		return patchConvolution{c, memo{}}
	case c.groups == c.in && c.out == c.in:
		return depthwiseConvolution{c}
	default:
		return groupedConvolution{c}
	}
}

// nativeConvolution uses the backend's own convolution. The derived gradients would
// refuse stride with dilation and loop over the groups; these compilers recognise.
type nativeConvolution struct{ convolution }

var imageAxes = graph.ConvolveAxesConfig{
	InputBatch: 0, InputSpatial: []int{1, 2}, InputChannels: 3,
	KernelSpatial: []int{0, 1}, KernelInputChannels: 2, KernelOutputChannels: 3,
	OutputBatch: 0, OutputSpatial: []int{1, 2}, OutputChannels: 3,
}

func (c convolution) strides() []int   { return []int{c.rows.stride, c.cols.stride} }
func (c convolution) dilations() []int { return []int{c.rows.dilation, c.cols.dilation} }

func (c convolution) padding() [][2]int {
	return [][2]int{{c.rows.before, c.rows.after()}, {c.cols.before, c.cols.after()}}
}

func (c nativeConvolution) output(x, kernel *graph.Node) *graph.Node {
	return graph.ConvGeneral(x, kernel, imageAxes, c.strides(), c.padding(), nil, c.dilations(), c.groups, 1)
}

// inputGradient convolves the adjoint, spread by the stride, with the reversed kernel.
func (c nativeConvolution) inputGradient(adjoint, kernel *graph.Node) *graph.Node {
	axes := imageAxes
	if c.groups == 1 {
		axes.KernelInputChannels, axes.KernelOutputChannels = 3, 2
	} else { // [kh, kw, in/groups, groups, out/groups] -> [kh, kw, out/groups, groups · in/groups]
		kernel = graph.Reshape(kernel, c.rows.kernel, c.cols.kernel, c.in/c.groups, c.groups, c.out/c.groups)
		kernel = graph.Reshape(graph.TransposeAllAxes(kernel, 0, 1, 4, 3, 2), c.rows.kernel, c.cols.kernel, c.out/c.groups, c.in)
	}
	pads := func(t taps) [2]int {
		return [2]int{t.dilation*(t.kernel-1) - t.before, t.in - 1 + t.before - t.stride*(t.out-1)}
	}
	return graph.ConvGeneral(adjoint, graph.Reverse(kernel, 0, 1), axes, nil, [][2]int{pads(c.rows), pads(c.cols)},
		c.strides(), c.dilations(), c.groups, 1)
}

// kernelGradient convolves the input with the adjoint: stride and dilation change
// places, channels become the batch and the batch is summed over.
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
	return graph.ConvGeneral(x, adjoint, axes, c.dilations(), c.padding(), nil, c.strides(), c.groups, 1)
}
