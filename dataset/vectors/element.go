package vectors

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// cell is what rows are made of in memory: vector components or codes.
type cell interface{ float32 | uint32 }

// element says how one stored number becomes a cell.
type element[T cell] struct {
	size int // bytes in the file
	// native is true when the stored bytes are already a T of this machine,
	// so that they can be read straight into the caller's slice.
	native bool
	// decode fills dst from len(dst)*size bytes and returns the position of
	// the first number a T cannot hold, or -1.
	decode func(dst []T, src []byte) int
}

// hostLittleEndian is true on machines that store the low byte first.
var hostLittleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// bytesOf returns the memory of values as bytes in host order.
func bytesOf[T cell](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))
}

// spooled is the element of temporary files: cells in host order.
func spooled[T cell]() element[T] { return element[T]{size: 4, native: true} }

// floatElement returns the decoder of a NumPy floating type such as "<f4".
func floatElement(descr string) (element[float32], bool) {
	order, ok := byteOrder(descr)
	if !ok {
		return element[float32]{}, false
	}
	switch descr[1:] {
	case "f2":
		return element[float32]{size: 2, decode: func(dst []float32, src []byte) int {
			for i := range dst {
				dst[i] = halfToFloat32(order.Uint16(src[2*i:]))
			}
			return -1
		}}, true
	case "f4":
		return element[float32]{size: 4, native: (descr[0] == '<') == hostLittleEndian, decode: func(dst []float32, src []byte) int {
			for i := range dst {
				dst[i] = math.Float32frombits(order.Uint32(src[4*i:]))
			}
			return -1
		}}, true
	case "f8":
		return element[float32]{size: 8, decode: func(dst []float32, src []byte) int {
			for i := range dst {
				dst[i] = float32(math.Float64frombits(order.Uint64(src[8*i:])))
			}
			return -1
		}}, true
	}
	return element[float32]{}, false
}

// byteElement is one unsigned byte a component, as in .bvecs files.
func byteElement() element[float32] {
	return element[float32]{size: 1, decode: func(dst []float32, src []byte) int {
		for i := range dst {
			dst[i] = float32(src[i])
		}
		return -1
	}}
}

// codeElement returns the decoder of a NumPy integer type that may hold codes.
func codeElement(descr string) (element[uint32], bool) {
	if descr == "|u1" || descr == "<u1" || descr == ">u1" {
		return element[uint32]{size: 1, decode: func(dst []uint32, src []byte) int {
			for i := range dst {
				dst[i] = uint32(src[i])
			}
			return -1
		}}, true
	}
	order, ok := byteOrder(descr)
	if !ok {
		return element[uint32]{}, false
	}
	switch descr[1:] {
	case "u2":
		return element[uint32]{size: 2, decode: func(dst []uint32, src []byte) int {
			for i := range dst {
				dst[i] = uint32(order.Uint16(src[2*i:]))
			}
			return -1
		}}, true
	case "u4":
		return element[uint32]{size: 4, native: (descr[0] == '<') == hostLittleEndian, decode: func(dst []uint32, src []byte) int {
			for i := range dst {
				dst[i] = order.Uint32(src[4*i:])
			}
			return -1
		}}, true
	case "i4":
		return element[uint32]{size: 4, decode: func(dst []uint32, src []byte) int {
			for i := range dst {
				dst[i] = order.Uint32(src[4*i:])
				if dst[i] > math.MaxInt32 {
					return i
				}
			}
			return -1
		}}, true
	case "i8":
		return element[uint32]{size: 8, decode: func(dst []uint32, src []byte) int {
			for i := range dst {
				code := order.Uint64(src[8*i:])
				if code > math.MaxUint32 {
					return i
				}
				dst[i] = uint32(code)
			}
			return -1
		}}, true
	}
	return element[uint32]{}, false
}

// byteOrder reads the order mark of a NumPy type description.
func byteOrder(descr string) (binary.ByteOrder, bool) {
	if len(descr) < 2 {
		return nil, false
	}
	switch descr[0] {
	case '<':
		return binary.LittleEndian, true
	case '>':
		return binary.BigEndian, true
	}
	return nil, false
}

// halfToFloat32 widens an IEEE 754 half; every half is exact in float32.
func halfToFloat32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent := uint32(h>>10) & 0x1f
	fraction := uint32(h & 0x3ff)
	switch exponent {
	case 0: // zero or subnormal: fraction * 2^-24
		value := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(value) | sign)
	case 31: // infinity or NaN
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}
