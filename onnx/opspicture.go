package onnx

import (
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gritvq/gritvq/nn"
)

// window is where a kernel or pool is applied along the picture's two axes.
type window struct {
	size, stride, dilation [2]int
	padding                [2][2]int // before and after
	out                    [2]int    // positions
}

// window reads the attributes that Conv and the pools share, for pictures x
// [batch, height, width, channels].
func (b *builder) window(n *node, x *Node, size []int) window {
	pair := func(name string) [2]int {
		values := n.ints(name)
		if values == nil {
			return [2]int{1, 1}
		}
		if len(values) != 2 || values[0] < 1 || values[1] < 1 {
			b.fail(n, "%s has to be two sizes from 1, not %v", name, values)
		}
		return [2]int(values)
	}
	if len(size) != 2 || size[0] < 1 || size[1] < 1 {
		b.fail(n, "it needs the height and width of its window, not %v", size)
	}
	w := window{size: [2]int(size), stride: pair("strides"), dilation: pair("dilations")}
	if pads := n.ints("pads"); pads != nil {
		if len(pads) != 4 || min(pads[0], pads[1], pads[2], pads[3]) < 0 {
			b.fail(n, "pads have to be four sizes from 0, not %v", pads)
		}
		w.padding = [2][2]int{{pads[0], pads[2]}, {pads[1], pads[3]}}
	}
	auto := n.text("auto_pad", "NOTSET")
	for axis := range 2 {
		w.place(axis, x.Shape().Dim(axis+1), auto, n.int("ceil_mode", 0) != 0)
		if w.out[axis] < 1 {
			b.fail(n, "a window of %v does not fit pictures of %v", size, x.Shape().Dimensions[1:3])
		}
	}
	return w
}

// place decides the padding and the number of positions of one axis.
func (w *window) place(axis, in int, auto string, ceil bool) {
	span, stride, pads := w.dilation[axis]*(w.size[axis]-1)+1, w.stride[axis], &w.padding[axis]
	if auto == "SAME_UPPER" || auto == "SAME_LOWER" {
		out := (in + stride - 1) / stride
		total := max(0, (out-1)*stride+span-in)
		pads[0], pads[1] = total/2, total-total/2
		if auto == "SAME_LOWER" {
			pads[0], pads[1] = pads[1], pads[0]
		}
	}
	free := in + pads[0] + pads[1] - span
	if free < 0 {
		return
	}
	w.out[axis] = free/stride + 1
	// A window that reaches over the end counts if it starts before the end.
	if ceil && free%stride != 0 && w.out[axis]*stride < in+pads[0] {
		w.out[axis]++
	}
}

func convolution(b *builder, n *node) value {
	x, kernel := b.picture(n, 0), b.variable("kernel")
	k := kernel.Shape().Dimensions
	w := b.window(n, x, k[:2])
	if w.stride[0] != w.stride[1] || w.dilation[0] != w.dilation[1] {
		b.fail(n, "strides and dilations have to be the same for both axes, not %v and %v", w.stride, w.dilation)
	}
	y := nn.Convolve(x, kernel, nn.ConvOptions{Stride: w.stride[0], Dilation: w.dilation[0], Padding: w.padding, Groups: n.int("group", 1)})
	if n.has(2) {
		y = Add(y, Reshape(b.variable("bias"), 1, 1, 1, k[3]))
	}
	return value{node: y}
}

func batchNormalization(b *builder, n *node) value {
	x := b.tensor(n, 0)
	if x.Rank() != 2 && x.Rank() != 4 {
		b.fail(n, "it is supported for pictures and rows only")
	}
	along := func(name string) *Node { return ExpandLeftToRank(b.variable(name), x.Rank()) } // channels are the last axis
	return value{node: Add(Mul(x, along("scale")), along("offset"))}
}

func maxPool(b *builder, n *node) value {
	x := b.picture(n, 0)
	w := b.window(n, x, n.ints("kernel_shape"))
	if w.dilation != [2]int{1, 1} {
		b.fail(n, "dilated pools are not supported")
	}
	rows, columns := w.reach(0, x), w.reach(1, x)
	if w.size[0] != w.size[1] || w.stride[0] != w.stride[1] {
		// Rare, and slow on the embedded engine.
		return value{node: MaxPool(x).WindowPerAxis(w.size[:]...).StridePerAxis(w.stride[:]...).PaddingPerDim([][2]int{rows, columns}).Done()}
	}
	if rows != [2]int{} || columns != [2]int{} {
		x = Pad(x, Infinity(x.Graph(), x.DType(), -1), PadAxis{}, PadAxis{Start: rows[0], End: rows[1]},
			PadAxis{Start: columns[0], End: columns[1]}, PadAxis{})
	}
	return value{node: nn.MaxPool(x, w.size[0], w.stride[0], false)}
}

// reach is the padding that makes the last window end at the end of an axis.
func (w window) reach(axis int, x *Node) [2]int {
	end := (w.out[axis]-1)*w.stride[axis] + w.size[axis] - x.Shape().Dim(axis+1) - w.padding[axis][0]
	return [2]int{w.padding[axis][0], end}
}

// averagePool sums under a kernel of ones and divides by the number of pixels
// under the window; if the file says so, padding counts too.
func averagePool(b *builder, n *node) value {
	x := b.picture(n, 0)
	w := b.window(n, x, n.ints("kernel_shape"))
	if w.dilation != [2]int{1, 1} || w.stride[0] != w.stride[1] {
		b.fail(n, "dilated pools, and strides that differ, are not supported")
	}
	channels := x.Shape().Dim(3)
	ones := Ones(x.Graph(), shapes.Make(x.DType(), w.size[0], w.size[1], 1, channels))
	sum := nn.Convolve(x, ones, nn.ConvOptions{Stride: w.stride[0], Padding: [2][2]int{w.reach(0, x), w.reach(1, x)}, Groups: channels})
	return value{node: Mul(sum, w.shares(x, n.int("count_include_pad", 0) != 0))}
}

// shares is [1, height, width, 1]: 1 / the number of pixels under each window.
func (w window) shares(x *Node, padded bool) *Node {
	var counts [2][]float32
	for axis := range counts {
		low, high := 0, x.Shape().Dim(axis+1)
		if padded {
			low, high = -w.padding[axis][0], high+w.padding[axis][1]
		}
		for at := range w.out[axis] {
			start := at*w.stride[axis] - w.padding[axis][0]
			counts[axis] = append(counts[axis], float32(min(high, start+w.size[axis])-max(low, start)))
		}
	}
	var shares []float32
	for _, rows := range counts[0] {
		for _, columns := range counts[1] {
			shares = append(shares, 1/(rows*columns))
		}
	}
	t := tensors.FromFlatDataAndDimensions(shares, 1, w.out[0], w.out[1], 1)
	return ConvertDType(Const(x.Graph(), t), x.DType())
}

func globalPool(reduce func(x *Node, axes ...int) *Node) operator {
	return func(b *builder, n *node) value {
		return value{node: ReduceAndKeep(b.picture(n, 0), reduce, 1, 2)}
	}
}

func reduceMean(b *builder, n *node) value {
	x := b.tensor(n, 0)
	axes := b.numbers(n, 1, "axes")
	if axes == nil {
		b.fail(n, "it needs the axes to average over")
	}
	var inFile, stored []int
	for _, axis := range axes {
		axis = b.axis(n, axis, x.Rank())
		inFile, stored = append(inFile, axis), append(stored, storedAxis(axis, x.Rank()))
	}
	y := ReduceAndKeep(x, ReduceMean, stored...)
	if n.int("keepdims", 1) != 0 {
		return value{node: y}
	}
	return value{node: Squeeze(asInFile(y), inFile...)}
}

func pad(b *builder, n *node) value {
	x := b.picture(n, 0)
	pads := b.numbers(n, 1, "pads")
	fill := float64(n.float("value", 0))
	if n.has(2) {
		fill = b.scalar(n, 2, "the value to pad with has to be a constant")
	}
	if len(pads) != 8 || n.text("mode", "constant") != "constant" || n.has(3) {
		b.fail(n, "it is supported for all four axes with a constant only")
	}
	axes := make([]PadAxis, 4)
	for axis := range axes {
		axes[storedAxis(axis, 4)] = PadAxis{Start: pads[axis], End: pads[axis+4]}
	}
	return value{node: Pad(x, Scalar(x.Graph(), x.DType(), fill), axes...)}
}
