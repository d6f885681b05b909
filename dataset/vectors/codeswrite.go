package vectors

import (
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// CodeWriter takes the codes of all rows in order and makes them a file.
type CodeWriter interface {
	// WriteRows appends codes [n*levels], row after row. It is an error when
	// they are no whole rows, more than announced, or outside the vocabulary.
	WriteRows(codes []uint32) error
	// Commit puts the file in place, whole and durable; it is an error, and
	// nothing is kept, when rows are missing or the disk is full.
	Commit() error
	// Abort discards everything; it does nothing after Commit.
	Abort()
}

// CreateCodes starts a file for rows x len(vocab) codes, where vocab holds the
// number of codes of every level. The extension decides the format:
//
//   - .npy: an array [rows, levels] of uint16, or of uint32 when a level has
//     more than 65,536 codes
//   - .parquet: columns row (int64) and codes (list of int32)
//   - .jsonl: one line {"row":0,"codes":[3,17]} per row
//
// Nothing is visible under path before Commit. An unknown extension is an
// error that lists these.
func CreateCodes(path string, vocab []int, rows int) (CodeWriter, error) {
	return createCodes(path, vocab, rows, rows, len(vocab))
}

// CreateGrids starts a file for the codes of pictures: rows x cells x
// len(vocab). As .npy it is an array [rows, cells], or [rows, cells, levels]
// where there are several levels; the other formats of CreateCodes hold a
// picture's codes as one list, cell after cell.
func CreateGrids(path string, cells int, vocab []int, rows int) (CodeWriter, error) {
	shape := []int{rows, cells}
	if len(vocab) > 1 {
		shape = append(shape, len(vocab))
	}
	return createCodes(path, slices.Repeat(vocab, cells), rows, shape...)
}

// createCodes starts a file of codes whose .npy form has the given shape.
func createCodes(path string, vocab []int, rows int, shape ...int) (CodeWriter, error) {
	descr := "<u2"
	for level, size := range vocab {
		if size < 1 || int64(size) > math.MaxInt32 {
			return nil, fmt.Errorf("cannot write %s: level %d has %d codes, expected 1 to %d", path, level, size, math.MaxInt32)
		}
		if size > 1<<16 {
			descr = "<u4"
		}
	}
	levels := len(vocab)
	writer, err := createRows(path, "codes", rows, levels, []namedEncoder[uint32]{
		{".npy", func(f *atomicfile.File) (rowEncoder[uint32], error) {
			return newNPYEncoder[uint32](f, descr, shape...)
		}},
		{".parquet", func(f *atomicfile.File) (rowEncoder[uint32], error) { return newParquetCodes(f, levels), nil }},
		{".jsonl", func(f *atomicfile.File) (rowEncoder[uint32], error) {
			return &jsonlEncoder{file: f, levels: levels}, nil
		}},
	})
	if err != nil {
		return nil, err
	}
	sizes := append([]int(nil), vocab...)
	writer.check = func(row int, codes []uint32) error {
		for level, code := range codes {
			if int64(code) >= int64(sizes[level]) {
				return fmt.Errorf("writing %s: code %d of row %d, level %d is outside the vocabulary of %d", path, code, row, level, sizes[level])
			}
		}
		return nil
	}
	return writer, nil
}

// VectorWriter takes vectors in order and makes them a file.
type VectorWriter interface {
	// WriteRows appends vectors [n*dim], row after row. It is an error when
	// they are no whole rows or more than announced.
	WriteRows(values []float32) error
	// Commit puts the file in place, whole and durable; it is an error, and
	// nothing is kept, when rows are missing or the disk is full.
	Commit() error
	// Abort discards everything; it does nothing after Commit.
	Abort()
}

// CreateVectors starts a file for rows x dim float32 numbers. The extension
// decides the format: .npy (an array [rows, dim]), .fvecs, or .parquet (columns
// row, int64, and vector, list of float). All can be read by Open. Nothing is
// visible under path before Commit.
func CreateVectors(path string, dim, rows int) (VectorWriter, error) {
	if dim > maxDim {
		return nil, fmt.Errorf("cannot write %s: vectors of dimension %d, at most %d are supported", path, dim, maxDim)
	}
	writer, err := createRows(path, "vectors", rows, dim, []namedEncoder[float32]{
		{".npy", func(f *atomicfile.File) (rowEncoder[float32], error) {
			return newNPYEncoder[float32](f, "<f4", rows, dim)
		}},
		{".fvecs", func(f *atomicfile.File) (rowEncoder[float32], error) { return &fvecsEncoder{file: f, dim: dim}, nil }},
		{".parquet", func(f *atomicfile.File) (rowEncoder[float32], error) { return newParquetVectors(f, dim), nil }},
	})
	if err != nil {
		return nil, err
	}
	return writer, nil
}
