package codes

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/rowfile"
)

var npyFormat = format{rowfile.NPY, openNPY, func(f *atomicfile.File, c Content, shape []int) (rowfile.Encoder[uint32], error) {
	descr := "<u2"
	if slices.Max(c.Vocab) > 1<<16 {
		descr = "<u4"
	}
	return rowfile.NewNPYEncoder[uint32](f, descr, shape...)
}}

func openNPY(path string, file *os.File, size int64) (*File, error) {
	header, err := rowfile.ReadNPYHeader(path, io.NewSectionReader(file, 0, size))
	if err != nil {
		return nil, err
	}
	element, ok := codeElement(header.Descr)
	if !ok {
		return nil, fmt.Errorf("%s holds numbers of type %s, expected codes of type uint8, uint16, uint32, int32 or int64; "+
			"check which array was saved", path, header.TypeText())
	}
	switch {
	case len(header.Shape) == 1:
		header.Shape = append(header.Shape, 1)
		header.Fortran = false
	case len(header.Shape) == 3 && !header.Fortran: // pictures, cells, levels
		header.Shape = []int{header.Shape[0], header.Shape[1] * header.Shape[2]}
	}
	if len(header.Shape) != 2 || header.Shape[1] < 1 || header.Shape[1] > rowfile.MaxDim {
		return nil, fmt.Errorf("%s has shape %s, expected codes of shape (rows, levels); reshape and save it again", path, header.ShapeText())
	}
	if header.Fortran && header.Shape[0] > 1 && header.Shape[1] > 1 {
		return nil, fmt.Errorf("%s is stored in Fortran order; save numpy.ascontiguousarray(a) instead", path)
	}
	if err := header.CheckLength(path, element.Size, size); err != nil {
		return nil, err
	}
	t := &rowfile.Table[uint32]{
		Path: path, Reader: file, Offset: header.Offset, Rows: header.Shape[0], Cols: header.Shape[1], Element: element,
	}
	return tableFile(t, file), nil
}

// codeElement returns the decoder of a NumPy integer type that may hold codes.
func codeElement(descr string) (rowfile.Element[uint32], bool) {
	if descr == "|u1" || descr == "<u1" || descr == ">u1" {
		return rowfile.Element[uint32]{Size: 1, Decode: func(dst []uint32, src []byte) int {
			for i := range dst {
				dst[i] = uint32(src[i])
			}
			return -1
		}}, true
	}
	order, ok := rowfile.ByteOrder(descr)
	if !ok {
		return rowfile.Element[uint32]{}, false
	}
	switch descr[1:] {
	case "u2":
		return rowfile.Element[uint32]{Size: 2, Decode: func(dst []uint32, src []byte) int {
			for i := range dst {
				dst[i] = uint32(order.Uint16(src[2*i:]))
			}
			return -1
		}}, true
	case "u4":
		return rowfile.Element[uint32]{Size: 4, Native: (descr[0] == '<') == rowfile.HostLittleEndian,
			Decode: func(dst []uint32, src []byte) int {
				for i := range dst {
					dst[i] = order.Uint32(src[4*i:])
				}
				return -1
			}}, true
	case "i4":
		return rowfile.Element[uint32]{Size: 4, Decode: func(dst []uint32, src []byte) int {
			for i := range dst {
				dst[i] = order.Uint32(src[4*i:])
				if dst[i] > math.MaxInt32 {
					return i
				}
			}
			return -1
		}}, true
	case "i8":
		return rowfile.Element[uint32]{Size: 8, Decode: func(dst []uint32, src []byte) int {
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
	return rowfile.Element[uint32]{}, false
}
