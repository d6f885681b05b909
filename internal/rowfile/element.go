// Package rowfile reads and writes matrices of float32 or uint32 in files: rows
// of vectors and rows of codes. It knows .npy headers, list columns of parquet
// files, and temporary copies of files that cannot be read in place.
package rowfile

import (
	"encoding/binary"
	"unsafe"
)

// MaxDim bounds the numbers of a row, so that a damaged header cannot ask for
// absurd buffers.
const MaxDim = 1 << 20

// Cell is a vector component or a code in memory.
type Cell interface{ float32 | uint32 }

// Element is the stored form of a number.
type Element[T Cell] struct {
	Size int // bytes in the file
	// Native is true when the stored bytes are already a T of this machine,
	// so that they can be read straight into the caller's slice.
	Native bool
	// Decode fills dst from len(dst)*Size bytes and returns the position of
	// the first number a T cannot hold, or -1.
	Decode func(dst []T, src []byte) int
}

// HostLittleEndian is true on machines that store the low byte first.
var HostLittleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// BytesOf returns the memory of values as bytes in host order.
func BytesOf[T Cell](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))
}

// ByteOrder reads the order mark of a NumPy type description.
func ByteOrder(descr string) (binary.ByteOrder, bool) {
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
