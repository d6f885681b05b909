package rowfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// chunkBytes is how much is read at a time when bytes need decoding.
const chunkBytes = 256 << 10

// Table is a row-major matrix inside a file. Safe for concurrent use.
type Table[T Cell] struct {
	Path       string // as named in errors
	Reader     io.ReaderAt
	Offset     int64  // of the first row
	Prefix     []byte // expected before every row (.fvecs, .bvecs), or nil
	Rows, Cols int
	Element    Element[T]
}

// SpooledTable is the matrix in a finished spool.
func SpooledTable[T Cell](path string, out *Spool, rows, cols int) *Table[T] {
	return &Table[T]{Path: path, Reader: out, Rows: rows, Cols: cols, Element: Element[T]{Size: 4, Native: true}}
}

// Stride is the distance in bytes from one row to the next.
func (t *Table[T]) Stride() int64 {
	return int64(len(t.Prefix)) + int64(t.Cols)*int64(t.Element.Size)
}

// ReadRows fills dst [n*cols] with rows start..start+n.
func (t *Table[T]) ReadRows(start, n int, dst []T) error {
	at := t.Offset + int64(start)*t.Stride()
	if t.Prefix != nil {
		return t.readPrefixed(start, n, dst)
	}
	if t.Element.Native {
		return t.readAt(BytesOf(dst), at)
	}
	scratch := takeScratch(chunkBytes)
	defer giveScratch(scratch)
	size := t.Element.Size
	for done := 0; done < len(dst); {
		part := dst[done:min(len(dst), done+chunkBytes/size)]
		raw := (*scratch)[:len(part)*size]
		if err := t.readAt(raw, at+int64(done)*int64(size)); err != nil {
			return err
		}
		if bad := t.Element.Decode(part, raw); bad >= 0 {
			return fmt.Errorf("row %d of %s holds a number that is no code (negative, or above 32 bits); check which array was saved",
				start+(done+bad)/t.Cols, t.Path)
		}
		done += len(part)
	}
	return nil
}

// readPrefixed is ReadRows for files that repeat the dimension in every row.
func (t *Table[T]) readPrefixed(start, n int, dst []T) error {
	stride := int(t.Stride())
	perChunk := max(1, chunkBytes/stride)
	scratch := takeScratch(perChunk * stride)
	defer giveScratch(scratch)
	for done := 0; done < n; {
		count := min(n-done, perChunk)
		raw := (*scratch)[:count*stride]
		if err := t.readAt(raw, t.Offset+int64(start+done)*int64(stride)); err != nil {
			return err
		}
		for i := range count {
			row := raw[i*stride : (i+1)*stride]
			if !bytes.HasPrefix(row, t.Prefix) {
				return fmt.Errorf("row %d of %s states another dimension than row 0 (%d); the file is damaged or mixes dimensions: write it again",
					start+done+i, t.Path, t.Cols)
			}
			t.Element.Decode(dst[(done+i)*t.Cols:(done+i+1)*t.Cols], row[len(t.Prefix):])
		}
		done += count
	}
	return nil
}

// readAt fills p from the file, or says that the file became shorter.
func (t *Table[T]) readAt(p []byte, at int64) error {
	n, err := t.Reader.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s became shorter while in use (nothing at byte %d); restore the file and start again", t.Path, at+int64(n))
	}
	return fmt.Errorf("reading %s: %w", t.Path, err)
}

var scratchPool = sync.Pool{New: func() any { b := make([]byte, chunkBytes); return &b }}

// takeScratch borrows a buffer of at least size bytes.
func takeScratch(size int) *[]byte {
	buffer := scratchPool.Get().(*[]byte)
	if len(*buffer) < size {
		*buffer = make([]byte, size)
	}
	return buffer
}

func giveScratch(buffer *[]byte) { scratchPool.Put(buffer) }
