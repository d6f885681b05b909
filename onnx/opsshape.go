package onnx

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

func concat(b *builder, n *node) value {
	first := b.value(n, 0)
	if first.ints != nil {
		var all []int64
		for k := range n.inputs {
			part := b.value(n, k)
			if part.ints == nil || len(part.ints.shape) > 1 {
				b.fail(n, "input %d is not a list of whole numbers", k)
			}
			all = append(all, part.ints.ints...)
		}
		return value{ints: wholeNumbers(all)}
	}
	var parts []*Node
	for k := range n.inputs {
		parts = append(parts, b.tensor(n, k))
	}
	rank := parts[0].Rank()
	return value{node: Concatenate(parts, storedAxis(b.axis(n, n.int("axis", 0), rank), rank))}
}

func wholeNumbers(values []int64) *tensor {
	return &tensor{shape: []int{len(values)}, ints: values, isInts: true}
}

func flatten(b *builder, n *node) value {
	x := asInFile(b.tensor(n, 0))
	axis := n.int("axis", 1)
	if axis < 0 {
		axis += x.Rank()
	}
	if axis < 0 || axis > x.Rank() {
		b.fail(n, "axis %d is outside a tensor of %d axes", axis, x.Rank())
	}
	rows := product(x.Shape().Dimensions[:axis])
	return value{node: Reshape(x, rows, x.Shape().Size()/rows)}
}

func reshape(b *builder, n *node) value {
	x := b.value(n, 0)
	dims := b.numbers(n, 1, "shape")
	if x.ints != nil {
		y, err := x.ints.reshaped(dims)
		if err != nil {
			b.fail(n, "%v", err)
		}
		return value{ints: y}
	}
	y := asInFile(x.node)
	dims = slices.Clone(dims)
	for i, dim := range dims {
		if dim == 0 && n.int("allowzero", 0) == 0 {
			if i >= y.Rank() {
				b.fail(n, "axis %d is kept, which a tensor of %d axes does not have", i, y.Rank())
			}
			dims[i] = y.Shape().Dim(i)
		}
	}
	return value{node: asStored(Reshape(y, dims...))}
}

func transpose(b *builder, n *node) value {
	x := b.value(n, 0)
	rank := len(b.dims(n, x))
	order := n.ints("perm")
	if order == nil {
		for axis := range rank {
			order = append(order, rank-1-axis)
		}
	}
	if sorted := slices.Sorted(slices.Values(order)); len(order) != rank || sorted[0] != 0 || sorted[rank-1] != rank-1 {
		b.fail(n, "%v is not an order of %d axes", order, rank)
	}
	if x.ints != nil {
		return value{ints: x.ints.transposed(order...)}
	}
	return value{node: asStored(TransposeAllAxes(asInFile(x.node), order...))}
}

func shape(b *builder, n *node) value {
	dims := fileDims(b.tensor(n, 0))
	within := func(at int) int {
		if at < 0 {
			at += len(dims)
		}
		return max(0, min(at, len(dims)))
	}
	from, to := within(n.int("start", 0)), within(n.int("end", len(dims)))
	var sizes []int64
	for _, dim := range dims[from:max(from, to)] {
		sizes = append(sizes, int64(dim))
	}
	return value{ints: wholeNumbers(sizes)}
}

func unsqueeze(b *builder, n *node) value {
	x, axes := b.value(n, 0), b.numbers(n, 1, "axes")
	if x.ints != nil {
		return value{ints: wholeNumbers(x.ints.ints)}
	}
	y := asInFile(x.node)
	dims, rank := y.Shape().Dimensions, y.Rank()+len(axes)
	out := slices.Repeat([]int{-1}, rank)
	for _, axis := range axes {
		axis = b.axis(n, axis, rank)
		if out[axis] == 1 {
			b.fail(n, "axis %d is added twice", axis)
		}
		out[axis] = 1
	}
	for i := range out {
		if out[i] < 0 {
			out[i], dims = dims[0], dims[1:]
		}
	}
	return value{node: asStored(Reshape(y, out...))}
}

func squeeze(b *builder, n *node) value {
	x, axes := b.value(n, 0), b.numbers(n, 1, "axes")
	if x.ints != nil {
		return x
	}
	y := asInFile(x.node)
	drop := map[int]bool{}
	for _, axis := range axes {
		drop[b.axis(n, axis, y.Rank())] = true
	}
	var dims []int
	for i, dim := range y.Shape().Dimensions {
		if !drop[i] && (dim != 1 || axes != nil) {
			dims = append(dims, dim)
		}
	}
	return value{node: asStored(Reshape(y, dims...))}
}
