// Package faiss writes and reads index files of FAISS: residual and product codes, behind linear maps and with IDs.
//
// The bytes are those that faiss.write_index writes for an index with the same content.
package faiss

import (
	"fmt"
	"math/bits"
)

// Index is a compressed index of FAISS: IndexResidualQuantizer or IndexPQ, in an IndexPreTransform if there are
// transforms, in an IndexIDMap if there are IDs.
type Index struct {
	// Transforms map vectors to those that the codes stand for, one after the other.
	Transforms []Transform
	Dim        int  // of the vectors that the codes stand for
	Product    bool // codes lie side by side; otherwise they are added up
	Codes      int  // K
	// Books are the codebooks [K, Width] of every position.
	Books [][]float32
	Beam  int // partial encodings that FAISS keeps when it encodes; product codes have none

	Rows []uint32 // codes [n, positions] of the stored vectors
	IDs  []int64  // of the stored vectors; nil numbers them from 0
}

// Transform maps vectors before they are encoded. One of Matrix, Mean and Unit is set.
type Transform struct {
	In, Out int
	Matrix  []float32 // x Aᵀ + Bias, A [Out,In]
	Bias    []float32 // [Out], or nil
	Mean    []float32 // x - Mean
	Unit    bool      // x / |x|
}

// Width is the number of coordinates that a codebook covers.
func (x *Index) Width() int {
	if x.Product {
		return x.Dim / len(x.Books)
	}
	return x.Dim
}

// Input is the dimension of the vectors that the index takes.
func (x *Index) Input() int {
	if len(x.Transforms) > 0 {
		return x.Transforms[0].In
	}
	return x.Dim
}

// Len is the number of stored vectors.
func (x *Index) Len() int { return len(x.Rows) / len(x.Books) }

// bits of a code. FAISS has codebooks of 2^bits codes.
func (x *Index) bits() int { return max(1, bits.Len(uint(x.Codes-1))) }

// codeSize is the number of bytes of a stored vector.
func (x *Index) codeSize() int { return (len(x.Books)*x.bits() + 7) / 8 }

// far is the coordinate of the codes that fill a codebook up to a power of two: too far away to be chosen, and of finite
// squared distance.
const far = 1e15

// most bounds the bits of a code, as FAISS does.
const mostBits = 16

// check reports why x is no index.
func (x *Index) check() error {
	switch {
	case x.Dim < 1 || len(x.Books) == 0 || x.Codes < 1:
		return fmt.Errorf("an index needs dimensions and codes")
	case x.bits() > mostBits:
		return fmt.Errorf("%d codes a position are more than the %d of FAISS", x.Codes, 1<<mostBits)
	case x.Product && x.Dim%len(x.Books) != 0:
		return fmt.Errorf("FAISS cuts vectors into parts of equal width, and %d dimensions are not %d times as many", x.Dim, len(x.Books))
	case len(x.Rows)%len(x.Books) != 0:
		return fmt.Errorf("%d codes are no rows of %d", len(x.Rows), len(x.Books))
	case x.IDs != nil && len(x.IDs) != x.Len():
		return fmt.Errorf("%d IDs were given for %d vectors", len(x.IDs), x.Len())
	}
	for i, book := range x.Books {
		if len(book) != x.Codes*x.Width() {
			return fmt.Errorf("codebook %d has %d numbers, expected %d codes of %d", i, len(book), x.Codes, x.Width())
		}
	}
	for i, code := range x.Rows {
		if int(code) >= x.Codes {
			return fmt.Errorf("row %d holds code %d of %d", i/len(x.Books), code, x.Codes)
		}
	}
	return nil
}

// pack returns the stored vectors: codes of [Index.bits] bits, the lowest bit first, every vector from a new byte on.
func (x *Index) pack() []byte {
	size, width := x.codeSize(), x.bits()
	packed := make([]byte, x.Len()*size)
	for i, code := range x.Rows {
		row, at := packed[i/len(x.Books)*size:], i%len(x.Books)*width
		for bit := range width {
			row[(at+bit)/8] |= byte(code>>bit&1) << ((at + bit) % 8)
		}
	}
	return packed
}

// unpack is the inverse of pack.
func (x *Index) unpack(packed []byte, width int) []uint32 {
	size := (len(x.Books)*width + 7) / 8
	rows := make([]uint32, len(packed)/size*len(x.Books))
	for i := range rows {
		row, at := packed[i/len(x.Books)*size:], i%len(x.Books)*width
		for bit := range width {
			rows[i] |= uint32(row[(at+bit)/8]>>((at+bit)%8)&1) << bit
		}
	}
	return rows
}
