package rowfile

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// Encoder turns rows into the bytes of one format.
type Encoder[T Cell] interface {
	// Encode appends whole rows; first is the number of the first one.
	Encode(first int, values []T) error
	// Finish writes the format's bytes after the last row.
	Finish() error
}

// Writer counts and checks rows on their way to an encoder and an atomic
// file.
type Writer[T Cell] struct {
	path       string
	rows, cols int
	written    int
	Check      func(row int, values []T) error // of one row; may be nil
	file       *atomicfile.File
	encoder    Encoder[T]
}

// Create starts a file of rows x cols with one of the given encoders, by
// extension.
func Create[T Cell](path, what string, rows, cols int, encoders []Encoding[T]) (*Writer[T], error) {
	if rows < 0 || cols < 1 {
		return nil, fmt.Errorf("cannot write %s: %d rows of %d %s are impossible", path, rows, cols, what)
	}
	extension := strings.ToLower(filepath.Ext(path))
	var known []string
	for _, candidate := range encoders {
		known = append(known, candidate.Extension)
		if candidate.Extension != extension {
			continue
		}
		file, err := atomicfile.Create(path)
		if err != nil {
			return nil, err
		}
		encoder, err := candidate.Open(file)
		if err != nil {
			file.Abort()
			return nil, err
		}
		return &Writer[T]{path: path, rows: rows, cols: cols, file: file, encoder: encoder}, nil
	}
	return nil, fmt.Errorf("cannot write %s as %s: its extension %q is none of %s", path, what, extension, strings.Join(known, ", "))
}

// Encoding makes the encoder of one extension.
type Encoding[T Cell] struct {
	Extension string
	Open      func(file *atomicfile.File) (Encoder[T], error)
}

// WriteRows appends whole rows. It is an error when there are more than announced.
func (w *Writer[T]) WriteRows(values []T) error {
	if len(values)%w.cols != 0 {
		return fmt.Errorf("writing %s: %d numbers are no whole rows of %d", w.path, len(values), w.cols)
	}
	n := len(values) / w.cols
	if w.written+n > w.rows {
		return fmt.Errorf("writing %s: row %d is beyond the %d announced", w.path, w.written+n-1, w.rows)
	}
	if w.Check != nil {
		for i := range n {
			if err := w.Check(w.written+i, values[i*w.cols:(i+1)*w.cols]); err != nil {
				return err
			}
		}
	}
	if err := w.encoder.Encode(w.written, values); err != nil {
		return err
	}
	w.written += n
	return nil
}

// Commit puts the file in place, whole and durable. It is an error, and nothing
// is kept, when rows are missing or the disk is full.
func (w *Writer[T]) Commit() error {
	defer w.file.Abort() // nothing after a successful commit
	if w.written != w.rows {
		return fmt.Errorf("writing %s: %d rows were announced, %d came; nothing was kept", w.path, w.rows, w.written)
	}
	if err := w.encoder.Finish(); err != nil {
		return err
	}
	return w.file.Commit()
}

// Abort discards everything; it does nothing after Commit.
func (w *Writer[T]) Abort() { w.file.Abort() }
