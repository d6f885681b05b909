package onnx

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// gather picks elements of whole numbers, or one entry along an axis.
func gather(b *builder, n *node) value {
	x, at := b.value(n, 0), b.value(n, 1)
	if at.ints == nil || len(at.ints.shape) > 1 {
		b.fail(n, "its indices have to be constants along one axis")
	}
	dims := b.dims(n, x)
	axis := b.axis(n, n.int("axis", 0), len(dims))
	indices := toInts(at.ints.ints)
	for i := range indices {
		indices[i] = b.axis(n, indices[i], dims[axis])
	}
	if x.ints != nil {
		y := x.ints.picked(axis, indices)
		if len(at.ints.shape) == 0 {
			y.shape = slices.Delete(y.shape, axis, axis+1)
		}
		return value{ints: y}
	}
	if len(indices) != 1 {
		b.fail(n, "it is supported for one index only")
	}
	spec := slices.Repeat([]SliceAxisSpec{AxisRange()}, len(dims))
	spec[axis] = AxisElem(indices[0])
	y := Slice(asInFile(x.node), spec...)
	if len(at.ints.shape) == 0 {
		y = Squeeze(y, axis)
	}
	return value{node: asStored(y)}
}

// dims returns the sizes of a value's axes, at least one, in the file's order.
func (b *builder) dims(n *node, x value) []int {
	var dims []int
	if x.ints != nil {
		dims = x.ints.shape
	} else {
		dims = fileDims(x.node)
	}
	if len(dims) == 0 {
		b.fail(n, "it needs a tensor with axes")
	}
	return dims
}

// slice cuts ranges out of axes; whole numbers may be read backwards too.
func slice(b *builder, n *node) value {
	x := b.value(n, 0)
	starts, ends := b.numbers(n, 1, "starts"), b.numbers(n, 2, "ends")
	axes, steps := b.numbers(n, 3, "axes"), b.numbers(n, 4, "steps")
	dims := slices.Clone(b.dims(n, x))
	rank := len(dims)
	for i := range starts {
		axis, step := i, 1
		if axes != nil {
			axis = axes[min(i, len(axes)-1)]
		}
		if steps != nil {
			step = steps[min(i, len(steps)-1)]
		}
		axis = b.axis(n, axis, rank)
		if i >= len(ends) || step == 0 {
			b.fail(n, "its ranges are not complete")
		}
		positions := span(starts[i], ends[i], step, dims[axis])
		dims[axis] = len(positions)
		switch {
		case x.ints != nil:
			x = value{ints: x.ints.picked(axis, positions)}
		case step != 1 || len(positions) == 0:
			b.fail(n, "tensors are cut in steps of 1 only, and not to nothing")
		default:
			spec := slices.Repeat([]SliceAxisSpec{AxisRange()}, rank)
			spec[storedAxis(axis, rank)] = AxisRange(positions[0], positions[len(positions)-1]+1)
			x = value{node: Slice(x.node, spec...)}
		}
	}
	return x
}

// span lists the positions of a range. Negative limits count from the end; limits
// outside are moved inside.
func span(start, end, step, size int) (positions []int) {
	low, high := 0, size // bounds of the limits
	if step < 0 {
		low, high = -1, size-1
	}
	inside := func(at int) int {
		if at < 0 {
			at += size
		}
		return max(low, min(at, high))
	}
	start, end = inside(start), inside(end)
	for at := start; step > 0 && at < end || step < 0 && at > end; at += step {
		positions = append(positions, at)
	}
	return positions
}

// constantOfShape fills a shape known on the host with a whole number.
func constantOfShape(b *builder, n *node) value {
	dims := b.numbers(n, 0, "shape")
	a := n.attributes["value"]
	if a == nil || a.tensor == nil || !a.tensor.isInts || len(a.tensor.ints) != 1 {
		b.fail(n, "it is supported for whole numbers only")
	}
	size := product(dims)
	if size < 0 || size > maxShapeNumbers {
		b.fail(n, "a shape of %v is not one of a tensor's axes", dims)
	}
	return value{ints: &tensor{shape: dims, ints: slices.Repeat(a.tensor.ints, size), isInts: true}}
}

// maxShapeNumbers bounds whole numbers made on the host: they describe axes.
const maxShapeNumbers = 1 << 10
