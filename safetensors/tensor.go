// Package safetensors reads and writes the safetensors format: a length, a
// JSON header and the raw bytes of named tensors, with nothing executable.
//
// The reader trusts nothing: every length and offset is checked against the
// size of the input before it is used. The writer gives the same bytes for the
// same tensors in any order.
package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// DType names an element type exactly as the file's header spells it.
type DType string

// The element types this package reads and writes, all little-endian.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I64  DType = "I64"
	I32  DType = "I32"
	I16  DType = "I16"
	I8   DType = "I8"
	U64  DType = "U64"
	U32  DType = "U32"
	U16  DType = "U16"
	U8   DType = "U8"
	BOOL DType = "BOOL"
)

var sizes = map[DType]int{
	F64: 8, I64: 8, U64: 8, F32: 4, I32: 4, U32: 4, F16: 2, BF16: 2, I16: 2, U16: 2, I8: 1, U8: 1, BOOL: 1,
}

// Size returns the bytes one element takes, or 0 for a type not listed above.
func (t DType) Size() int { return sizes[t] }

// byteSize returns the bytes a tensor of this type and shape takes.
func byteSize(t DType, shape []int) (int, error) {
	size := t.Size()
	if size == 0 {
		return 0, fmt.Errorf("element type %q is not supported", string(t))
	}
	for _, dim := range shape {
		if dim < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		high, low := bits.Mul64(uint64(size), uint64(dim))
		if high != 0 || low > math.MaxInt {
			return 0, fmt.Errorf("shape %v overflows the address space", shape)
		}
		size = int(low)
	}
	return size, nil
}

// Tensor is a named array, row-major, little-endian. A scalar has an empty Shape.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Data  []byte
}

// FromFloat32 copies values into an F32 tensor; their number has to be the product
// of shape.
func FromFloat32(name string, shape []int, values []float32) Tensor {
	return copied(name, F32, shape, values)
}

// FromInt64 copies values into an I64 tensor; their number has to be the product
// of shape.
func FromInt64(name string, shape []int, values []int64) Tensor {
	return copied(name, I64, shape, values)
}

func copied(name string, dtype DType, shape []int, values any) Tensor {
	data, _ := binary.Append(nil, binary.LittleEndian, values) // a slice of numbers cannot fail
	return Tensor{Name: name, DType: dtype, Shape: slices.Clone(shape), Data: data}
}

// check reports a tensor whose bytes do not fit its shape and type.
func (t Tensor) check() error { return checkSize(t.Name, t.DType, t.Shape, int64(len(t.Data))) }

func checkSize(name string, dtype DType, shape []int, size int64) error {
	want, err := byteSize(dtype, shape)
	if err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	if size != int64(want) {
		return fmt.Errorf("tensor %q: shape %v of %s takes %d bytes but it holds %d", name, shape, dtype, want, size)
	}
	return nil
}

var floatElements = map[DType]func(b []byte) float32{
	F64:  func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) },
	F32:  func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) },
	F16:  func(b []byte) float32 { return halfToFloat32(binary.LittleEndian.Uint16(b)) },
	BF16: func(b []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16) },
}

var integerElements = map[DType]func(b []byte) int64{
	I64:  func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) },
	U64:  func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) },
	I32:  func(b []byte) int64 { return int64(int32(binary.LittleEndian.Uint32(b))) },
	U32:  func(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) },
	I16:  func(b []byte) int64 { return int64(int16(binary.LittleEndian.Uint16(b))) },
	U16:  func(b []byte) int64 { return int64(binary.LittleEndian.Uint16(b)) },
	I8:   func(b []byte) int64 { return int64(int8(b[0])) },
	U8:   func(b []byte) int64 { return int64(b[0]) },
	BOOL: func(b []byte) int64 { return int64(b[0]) },
}

// Float32 returns the elements as float32, in row-major order: F32, F16 and
// BF16 exactly, F64 rounded to the nearest. Other types are an error.
func (t Tensor) Float32() ([]float32, error) {
	return elements(t, floatElements, "read it as integers, not as float32")
}

// Int64 returns the elements as int64, in row-major order, from any integer
// type and from BOOL (0 or 1). A U64 above the largest int64 and a
// floating-point tensor are errors.
func (t Tensor) Int64() ([]int64, error) {
	values, err := elements(t, integerElements, "read it as float32, not as integers")
	if t.DType != U64 {
		return values, err
	}
	for i, value := range values {
		if value < 0 {
			return nil, fmt.Errorf("tensor %q: element %d is %d, more than an int64 holds", t.Name, i, uint64(value))
		}
	}
	return values, err
}

func elements[T any](t Tensor, readers map[DType]func(b []byte) T, advice string) ([]T, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	element := readers[t.DType]
	if element == nil {
		return nil, fmt.Errorf("tensor %q holds %s: %s", t.Name, t.DType, advice)
	}
	size := t.DType.Size()
	values := make([]T, len(t.Data)/size)
	for i := range values {
		values[i] = element(t.Data[i*size:])
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
