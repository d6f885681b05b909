package onnx

import (
	"fmt"
	"slices"
)

func product(dims []int) int {
	size := 1
	for _, dim := range dims {
		size *= dim
	}
	return size
}

// rearranged returns a tensor of the given shape whose element number i is
// element source[i] of t.
func (t *tensor) rearranged(shape []int, source []int) *tensor {
	out := &tensor{name: t.name, shape: shape, isInts: t.isInts}
	for _, at := range source {
		if t.isInts {
			out.ints = append(out.ints, t.ints[at])
		} else {
			out.float = append(out.float, t.float[at])
		}
	}
	return out
}

// strides returns the distance between neighbours along each axis.
func strides(shape []int) []int {
	steps := make([]int, len(shape))
	for i, step := len(shape)-1, 1; i >= 0; i-- {
		steps[i], step = step, step*shape[i]
	}
	return steps
}

// walk lists Σ index[axis]·steps[axis] over all indices of a shape, the last axis
// fastest.
func walk(shape, steps []int) []int {
	if slices.Contains(shape, 0) {
		return nil
	}
	offsets := []int{0}
	for axis := range shape {
		next := make([]int, 0, len(offsets)*shape[axis])
		for _, offset := range offsets {
			for i := range shape[axis] {
				next = append(next, offset+i*steps[axis])
			}
		}
		offsets = next
	}
	return offsets
}

// transposed returns the tensor with its axes in another order, such as
// channels last: axis i of the result is axis order[i] of t.
func (t *tensor) transposed(order ...int) *tensor {
	from := strides(t.shape)
	shape, steps := make([]int, len(order)), make([]int, len(order))
	for i, axis := range order {
		shape[i], steps[i] = t.shape[axis], from[axis]
	}
	return t.rearranged(shape, walk(shape, steps))
}

// picked returns the entries at these positions of an axis.
func (t *tensor) picked(axis int, positions []int) *tensor {
	shape := slices.Clone(t.shape)
	shape[axis] = len(positions)
	steps := strides(t.shape)
	before := walk(t.shape[:axis], steps[:axis])
	after := walk(t.shape[axis+1:], steps[axis+1:])
	var source []int
	for _, start := range before {
		for _, position := range positions {
			for _, end := range after {
				source = append(source, start+position*steps[axis]+end)
			}
		}
	}
	return t.rearranged(shape, source)
}

// reshaped returns the tensor with other axes; one size may be -1 for the rest, and
// 0 keeps the axis of that number.
func (t *tensor) reshaped(dims []int) (*tensor, error) {
	shape, known, free := slices.Clone(dims), 1, -1
	for i, dim := range shape {
		switch {
		case dim == 0 && i < len(t.shape):
			shape[i] = t.shape[i]
		case dim == -1 && free < 0:
			free = i
			continue
		}
		known *= shape[i]
	}
	if free >= 0 && known > 0 {
		shape[free] = t.size() / known
		known *= shape[free]
	}
	if known != t.size() {
		return nil, fmt.Errorf("%d elements cannot take the shape %v", t.size(), dims)
	}
	return &tensor{name: t.name, shape: shape, float: t.float, ints: t.ints, isInts: t.isInts}, nil
}
