package vectors

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// rowEncoder turns rows into the bytes of one format.
type rowEncoder[T cell] interface {
	// encode appends whole rows; first is the number of the first one.
	encode(first int, values []T) error
	// finish writes what the format has after the last row.
	finish() error
}

// rowWriter counts and checks rows on their way to an encoder and an atomic
// file. It implements CodeWriter and VectorWriter.
type rowWriter[T cell] struct {
	path       string
	rows, cols int
	written    int
	check      func(row int, values []T) error // of one row; may be nil
	file       *atomicfile.File
	encoder    rowEncoder[T]
}

// createRows starts a file of rows x cols with one of the given encoders, by
// extension.
func createRows[T cell](path, what string, rows, cols int, encoders []namedEncoder[T]) (*rowWriter[T], error) {
	if rows < 0 || cols < 1 {
		return nil, fmt.Errorf("cannot write %s: %d rows of %d %s are impossible", path, rows, cols, what)
	}
	extension := strings.ToLower(filepath.Ext(path))
	var known []string
	for _, candidate := range encoders {
		known = append(known, candidate.extension)
		if candidate.extension != extension {
			continue
		}
		file, err := atomicfile.Create(path)
		if err != nil {
			return nil, err
		}
		encoder, err := candidate.create(file)
		if err != nil {
			file.Abort()
			return nil, err
		}
		return &rowWriter[T]{path: path, rows: rows, cols: cols, file: file, encoder: encoder}, nil
	}
	return nil, fmt.Errorf("cannot write %s as %s: its extension %q is none of %s", path, what, extension, strings.Join(known, ", "))
}

// namedEncoder makes the encoder of one extension.
type namedEncoder[T cell] struct {
	extension string
	create    func(file *atomicfile.File) (rowEncoder[T], error)
}

// WriteRows implements CodeWriter and VectorWriter.
func (w *rowWriter[T]) WriteRows(values []T) error {
	if len(values)%w.cols != 0 {
		return fmt.Errorf("writing %s: %d numbers are no whole rows of %d", w.path, len(values), w.cols)
	}
	n := len(values) / w.cols
	if w.written+n > w.rows {
		return fmt.Errorf("writing %s: row %d is beyond the %d announced", w.path, w.written+n-1, w.rows)
	}
	if w.check != nil {
		for i := range n {
			if err := w.check(w.written+i, values[i*w.cols:(i+1)*w.cols]); err != nil {
				return err
			}
		}
	}
	if err := w.encoder.encode(w.written, values); err != nil {
		return err
	}
	w.written += n
	return nil
}

// Commit implements CodeWriter and VectorWriter.
func (w *rowWriter[T]) Commit() error {
	defer w.file.Abort() // nothing after a successful commit
	if w.written != w.rows {
		return fmt.Errorf("writing %s: %d rows were announced, %d came; nothing was kept", w.path, w.rows, w.written)
	}
	if err := w.encoder.finish(); err != nil {
		return err
	}
	return w.file.Commit()
}

// Abort implements CodeWriter and VectorWriter.
func (w *rowWriter[T]) Abort() { w.file.Abort() }
