// Package safetensors reads and writes the safetensors format: a length, a
// JSON header and the raw bytes of named tensors, with nothing executable.
//
// The reader trusts nothing: every length and offset is checked against the
// bytes at hand before it is used. The writer gives the same bytes for the
// same tensors, whatever their order.
package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Tensor is one named array, row-major, little-endian. A scalar has an empty
// Shape.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Data  []byte
}

// FromFloat32 copies values into an F32 tensor. The number of values has to
// be the product of shape; Encode and Write report it when it is not.
func FromFloat32(name string, shape []int, values []float32) Tensor {
	data := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(v))
	}
	return Tensor{Name: name, DType: F32, Shape: append([]int(nil), shape...), Data: data}
}

// FromInt64 copies values into an I64 tensor. The number of values has to be
// the product of shape; Encode and Write report it when it is not.
func FromInt64(name string, shape []int, values []int64) Tensor {
	data := make([]byte, 8*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint64(data[8*i:], uint64(v))
	}
	return Tensor{Name: name, DType: I64, Shape: append([]int(nil), shape...), Data: data}
}

// check reports a tensor whose bytes do not fit its shape and type.
func (t Tensor) check() error {
	want, err := byteSize(t.DType, t.Shape)
	if err != nil {
		return fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	if len(t.Data) != want {
		return fmt.Errorf("tensor %q: shape %v of %s takes %d bytes but it holds %d", t.Name, t.Shape, t.DType, want, len(t.Data))
	}
	return nil
}

// Float32 returns the elements as float32, in row-major order: F32, F16 and
// BF16 exactly, F64 rounded to the nearest. Other types are an error.
func (t Tensor) Float32() ([]float32, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	var element func(b []byte) float32
	switch t.DType {
	case F64:
		element = func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }
	case F32:
		element = func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
	case F16:
		element = func(b []byte) float32 { return halfToFloat32(binary.LittleEndian.Uint16(b)) }
	case BF16:
		element = func(b []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16) }
	default:
		return nil, fmt.Errorf("tensor %q holds %s: read it as integers, not as float32", t.Name, t.DType)
	}
	size := t.DType.Size()
	values := make([]float32, len(t.Data)/size)
	for i := range values {
		values[i] = element(t.Data[i*size:])
	}
	return values, nil
}

// Int64 returns the elements as int64, in row-major order, from any integer
// type and from BOOL (0 or 1). A U64 above the largest int64 and a
// floating-point tensor are errors.
func (t Tensor) Int64() ([]int64, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	var element func(b []byte) int64
	switch t.DType {
	case I64, U64:
		element = func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }
	case I32:
		element = func(b []byte) int64 { return int64(int32(binary.LittleEndian.Uint32(b))) }
	case U32:
		element = func(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) }
	case I16:
		element = func(b []byte) int64 { return int64(int16(binary.LittleEndian.Uint16(b))) }
	case U16:
		element = func(b []byte) int64 { return int64(binary.LittleEndian.Uint16(b)) }
	case I8:
		element = func(b []byte) int64 { return int64(int8(b[0])) }
	case U8, BOOL:
		element = func(b []byte) int64 { return int64(b[0]) }
	default:
		return nil, fmt.Errorf("tensor %q holds %s: read it as float32, not as integers", t.Name, t.DType)
	}
	size := t.DType.Size()
	values := make([]int64, len(t.Data)/size)
	for i := range values {
		values[i] = element(t.Data[i*size:])
		if t.DType == U64 && values[i] < 0 {
			return nil, fmt.Errorf("tensor %q: element %d is %d, more than an int64 holds", t.Name, i, uint64(values[i]))
		}
	}
	return values, nil
}

// halfToFloat32 widens an IEEE 754 binary16 value; every one is a float32.
func halfToFloat32(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent := uint32(h >> 10 & 0x1f)
	fraction := uint32(h & 0x3ff)
	switch exponent {
	case 0: // zero and subnormals: fraction * 2^-24
		magnitude := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(magnitude))
	case 0x1f: // infinities and NaN, whose payload moves along
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
