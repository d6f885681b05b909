package vectors

import (
	"encoding/binary"
	"fmt"
	"io"
)

// openVecs returns the vectors of an .fvecs or .bvecs file: every row is its
// dimension as a little-endian int32, then that many float32 or bytes. The
// dimensions of the first and the last row are checked here, those of the
// others as they are read. The Vectors takes over closer.
func openVecs(path, format string, file io.ReaderAt, size int64, closer io.Closer) (*Vectors, error) {
	element := byteElement()
	if format == ".fvecs" {
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
		return nil, fmt.Errorf("%s states the dimension %d in its first row, expected 1 to %d; it is no %s file or is damaged", path, int32(dim), maxDim, format)
	}
	t := &table[float32]{path: path, reader: file, prefix: prefix, cols: int(dim), element: element}
	rows := size / t.stride()
	if rest := size % t.stride(); rest != 0 {
		return nil, fmt.Errorf("%s is truncated or damaged: rows of dimension %d take %d bytes, so %d bytes were expected for %d rows, found %d; copy or write it again", path, dim, t.stride(), (rows+1)*t.stride(), rows+1, size)
	}
	t.rows = int(rows)
	if err := t.readRows(t.rows-1, 1, make([]float32, t.cols)); err != nil {
		return nil, err
	}
	return newVectors(path, t.rows, t.cols, t, closer), nil
}
