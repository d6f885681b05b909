package vectors

import (
	"fmt"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/rowfile"
)

// Writer takes vectors in order and makes them a file.
type Writer interface {
	// WriteRows appends vectors [n*dim], row after row. It is an error when
	// they are no whole rows or more than announced.
	WriteRows(values []float32) error
	// Commit puts the file in place, whole and durable; it is an error, and
	// nothing is kept, when rows are missing or the disk is full.
	Commit() error
	// Abort discards everything; it does nothing after Commit.
	Abort()
}

// Create starts a file for rows x dim float32 numbers. The extension decides
// the format: .npy (an array [rows, dim]), .fvecs, or .parquet (columns row,
// int64, and vector, list of float). Nothing is visible under path before
// Commit.
func Create(path string, dim, rows int) (Writer, error) {
	if dim > maxDim {
		return nil, fmt.Errorf("cannot write %s: vectors of dimension %d, at most %d are supported", path, dim, maxDim)
	}
	var encodings []rowfile.Encoding[float32]
	for _, f := range formats {
		if f.create == nil {
			continue
		}
		encodings = append(encodings, rowfile.Encoding[float32]{
			Extension: f.Extension,
			Open:      func(file *atomicfile.File) (rowfile.Encoder[float32], error) { return f.create(file, dim, rows) },
		})
	}
	writer, err := rowfile.Create(path, "vectors", rows, dim, encodings)
	if err != nil {
		return nil, err
	}
	return writer, nil
}

// Write writes blocks of rows [n, dim], one after the other, as Create does.
func Write(path string, dim int, blocks ...[]float32) error {
	rows := 0
	for _, block := range blocks {
		rows += len(block) / dim
	}
	w, err := Create(path, dim, rows)
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, block := range blocks {
		if err := w.WriteRows(block); err != nil {
			return err
		}
	}
	return w.Commit()
}
