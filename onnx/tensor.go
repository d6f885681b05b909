package onnx

import (
	"fmt"

	"github.com/gritvq/gritvq/safetensors"
)

// The element types of TensorProto.DataType that networks store.
const (
	typeFloat    = 1
	typeUint8    = 2
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

// stored is safetensors' name of an ONNX element type; ONNX's raw bytes have the
// same layout.
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
