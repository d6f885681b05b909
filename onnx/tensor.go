package onnx

import (
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/safetensors"
)

// The element types of TensorProto.DataType that networks store.
const (
	typeFloat    = 1
	typeInt32    = 6
	typeInt64    = 7
	typeBool     = 9
	typeFloat16  = 10
	typeDouble   = 11
	typeBFloat16 = 16
)

// tensor is a constant of the file, row-major. One of the two is set: float for
// any floating-point type, ints for whole numbers.
type tensor struct {
	name   string
	shape  []int
	float  []float32
	ints   []int64
	isInts bool
}

func (t *tensor) size() int {
	if t.isInts {
		return len(t.ints)
	}
	return len(t.float)
}

// decodeTensor reads a TensorProto. It fails on types networks do not store, on
// data in another file and on a number of elements other than the shape's.
func decodeTensor(message []byte) (*tensor, error) {
	t := &tensor{}
	var dims []int64
	var kind, location int64
	var raw []byte
	var small []int64 // int32_data: also halves, by their bits
	err := schema{
		1: into(field.integers, &dims), 2: into(field.integer, &kind), 8: into(field.text, &t.name), 14: into(field.integer, &location),
		4: into(field.floats, &t.float), 5: into(field.integers, &small), 7: into(field.integers, &t.ints), 10: into(field.doubles, &t.float),
		9: nested(func(m []byte) error { raw = m; return nil }),
	}.read(message)
	if err != nil {
		return nil, fmt.Errorf("a tensor cannot be read: %w", err)
	}
	if location != 0 {
		return nil, fmt.Errorf("tensor %q is stored in another file: export the network with its weights inside one file", t.name)
	}
	if t.shape, err = shapeOf(dims); err == nil {
		err = t.fill(kind, raw, small)
	}
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.name, err)
	}
	if t.size() != product(t.shape) {
		return nil, fmt.Errorf("tensor %q has shape %v but %d elements", t.name, t.shape, t.size())
	}
	return t, nil
}

func product(dims []int) int {
	size := 1
	for _, dim := range dims {
		size *= dim
	}
	return size
}

// maxElements bounds a shape, far above any network's largest tensor.
const maxElements = 1 << 31

func shapeOf(dims []int64) ([]int, error) {
	shape, size := make([]int, len(dims)), int64(1)
	for i, dim := range dims {
		if dim < 0 || dim > maxElements || size*max(1, dim) > maxElements {
			return nil, fmt.Errorf("shape %v is negative or larger than a network's tensor can be", dims)
		}
		shape[i], size = int(dim), size*max(1, dim)
	}
	return shape, nil
}

// stored is the element type by which safetensors knows an ONNX one; ONNX's raw
// bytes have the same layout.
var stored = map[int64]safetensors.DType{
	typeFloat: safetensors.F32, typeDouble: safetensors.F64, typeFloat16: safetensors.F16, typeBFloat16: safetensors.BF16,
	typeInt32: safetensors.I32, typeInt64: safetensors.I64, typeBool: safetensors.BOOL,
}

// fill takes the elements from where their type keeps them: raw bytes, a field
// of their own, or, for halves and small whole numbers, the list called small.
func (t *tensor) fill(kind int64, raw []byte, small []int64) (err error) {
	dtype, ok := stored[kind]
	if !ok {
		return fmt.Errorf("element type %d is not supported: export the network in float32", kind)
	}
	t.isInts = kind == typeInt32 || kind == typeInt64 || kind == typeBool
	switch {
	case small != nil && (kind == typeInt32 || kind == typeBool):
		t.ints = append(t.ints, small...)
	case small != nil && (kind == typeFloat16 || kind == typeBFloat16):
		for _, bits := range small {
			raw = append(raw, byte(bits), byte(bits>>8))
		}
	}
	if t.isInts && t.float != nil || !t.isInts && t.ints != nil {
		return fmt.Errorf("elements of type %d are stored as those of another", kind)
	}
	if raw == nil {
		return nil
	}
	bytes := safetensors.Tensor{Name: t.name, DType: dtype, Shape: t.shape, Data: raw}
	if t.isInts {
		t.ints, err = bytes.Int64()
	} else {
		t.float, err = bytes.Float32()
	}
	return err
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
