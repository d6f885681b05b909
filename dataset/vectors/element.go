package vectors

import (
	"math"

	"github.com/gritvq/gritvq/internal/rowfile"
)

// floatElement returns the decoder of a NumPy floating type such as "<f4".
func floatElement(descr string) (rowfile.Element[float32], bool) {
	order, ok := rowfile.ByteOrder(descr)
	if !ok {
		return rowfile.Element[float32]{}, false
	}
	switch descr[1:] {
	case "f2":
		return rowfile.Element[float32]{Size: 2, Decode: func(dst []float32, src []byte) int {
			for i := range dst {
				dst[i] = halfToFloat32(order.Uint16(src[2*i:]))
			}
			return -1
		}}, true
	case "f4":
		return rowfile.Element[float32]{Size: 4, Native: (descr[0] == '<') == rowfile.HostLittleEndian,
			Decode: func(dst []float32, src []byte) int {
				for i := range dst {
					dst[i] = math.Float32frombits(order.Uint32(src[4*i:]))
				}
				return -1
			}}, true
	case "f8":
		return rowfile.Element[float32]{Size: 8, Decode: func(dst []float32, src []byte) int {
			for i := range dst {
				dst[i] = float32(math.Float64frombits(order.Uint64(src[8*i:])))
			}
			return -1
		}}, true
	}
	return rowfile.Element[float32]{}, false
}

// byteElement is one unsigned byte a component, as in .bvecs files.
func byteElement() rowfile.Element[float32] {
	return rowfile.Element[float32]{Size: 1, Decode: func(dst []float32, src []byte) int {
		for i := range dst {
			dst[i] = float32(src[i])
		}
		return -1
	}}
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
