package vectors

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/rowfile"
)

var fvecsFormat = format{Format: rowfile.Format{Extension: ".fvecs"}, open: openVecsFile(".fvecs"),
	create: func(f *atomicfile.File, dim, _ int) (rowfile.Encoder[float32], error) {
		return &fvecsEncoder{file: f, dim: dim}, nil
	}}

var bvecsFormat = format{Format: rowfile.Format{Extension: ".bvecs"}, open: openVecsFile(".bvecs")}

func openVecsFile(extension string) func(context.Context, source, Options) (*Vectors, error) {
	return func(_ context.Context, f source, _ Options) (*Vectors, error) {
		return openVecs(f.path, extension, f, f.size, f)
	}
}

// openVecs returns the vectors of an .fvecs or .bvecs file: every row is its
// dimension as a little-endian int32, then that many float32 or bytes. The
// dimensions of the first and the last row are checked here, of other rows when
// they are read. The Vectors takes over closer.
func openVecs(path, extension string, file io.ReaderAt, size int64, closer io.Closer) (*Vectors, error) {
	element := byteElement()
	if extension == ".fvecs" {
		element, _ = floatElement("<f4")
	}
	prefix := make([]byte, 4)
	if _, err := file.ReadAt(prefix, 0); err == io.EOF {
		return nil, fmt.Errorf("%s is truncated: expected at least 4 bytes for the dimension, found %d; copy or write it again", path, size)
	} else if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	dim := binary.LittleEndian.Uint32(prefix)
	if dim == 0 || dim > maxDim {
		return nil, fmt.Errorf("%s states the dimension %d in its first row, expected 1 to %d; it is no %s file or is damaged",
			path, int32(dim), maxDim, extension)
	}
	t := &rowfile.Table[float32]{Path: path, Reader: file, Prefix: prefix, Cols: int(dim), Element: element}
	rows := size / t.Stride()
	if rest := size % t.Stride(); rest != 0 {
		return nil, fmt.Errorf("%s is truncated or damaged: rows of dimension %d take %d bytes, "+
			"so %d bytes were expected for %d rows, found %d; copy or write it again",
			path, dim, t.Stride(), (rows+1)*t.Stride(), rows+1, size)
	}
	t.Rows = int(rows)
	if err := t.ReadRows(t.Rows-1, 1, make([]float32, t.Cols)); err != nil {
		return nil, err
	}
	return newVectors(path, t.Rows, t.Cols, t, closer), nil
}

// fvecsEncoder writes every row after its dimension.
type fvecsEncoder struct {
	file    *atomicfile.File
	dim     int
	scratch []byte
}

func (e *fvecsEncoder) Encode(_ int, values []float32) error {
	e.scratch = e.scratch[:0]
	for i, v := range values {
		if i%e.dim == 0 {
			e.scratch = binary.LittleEndian.AppendUint32(e.scratch, uint32(e.dim))
		}
		e.scratch = binary.LittleEndian.AppendUint32(e.scratch, math.Float32bits(v))
	}
	_, err := e.file.Write(e.scratch)
	return err
}

func (e *fvecsEncoder) Finish() error { return nil }
