package safetensors

import (
	"fmt"
	"math"
	"math/bits"
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

// Size returns the bytes one element takes, or 0 for a type not listed above.
func (t DType) Size() int {
	switch t {
	case F64, I64, U64:
		return 8
	case F32, I32, U32:
		return 4
	case F16, BF16, I16, U16:
		return 2
	case I8, U8, BOOL:
		return 1
	}
	return 0
}

// byteSize returns the bytes a tensor of this type and shape takes. It fails
// on an unknown type, a negative dimension and a product that overflows int.
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
