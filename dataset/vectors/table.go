package vectors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// chunkBytes is how much is read at a time when bytes need decoding.
const chunkBytes = 256 << 10

// table is a row-major matrix inside a file. Safe for concurrent use.
type table[T cell] struct {
	path       string // as named in errors
	reader     io.ReaderAt
	offset     int64  // of the first row
	prefix     []byte // expected before every row (.fvecs, .bvecs), or nil
	rows, cols int
	element    element[T]
}

// stride is the distance in bytes from one row to the next.
func (t *table[T]) stride() int64 {
	return int64(len(t.prefix)) + int64(t.cols)*int64(t.element.size)
}

// readRows fills dst [n*cols] with rows start..start+n.
func (t *table[T]) readRows(start, n int, dst []T) error {
	at := t.offset + int64(start)*t.stride()
	if t.prefix != nil {
		return t.readPrefixed(start, n, dst)
	}
	if t.element.native {
		return t.readAt(bytesOf(dst), at)
	}
	scratch := takeScratch(chunkBytes)
	defer giveScratch(scratch)
	size := t.element.size
	for done := 0; done < len(dst); {
		part := dst[done:min(len(dst), done+chunkBytes/size)]
		raw := (*scratch)[:len(part)*size]
		if err := t.readAt(raw, at+int64(done)*int64(size)); err != nil {
			return err
		}
		if bad := t.element.decode(part, raw); bad >= 0 {
			return fmt.Errorf("row %d of %s holds a number that is no code (negative, or above 32 bits); check which array was saved", start+(done+bad)/t.cols, t.path)
		}
		done += len(part)
	}
	return nil
}

// readPrefixed is readRows for files that repeat the dimension in every row.
func (t *table[T]) readPrefixed(start, n int, dst []T) error {
	stride := int(t.stride())
	perChunk := max(1, chunkBytes/stride)
	scratch := takeScratch(perChunk * stride)
	defer giveScratch(scratch)
	for done := 0; done < n; {
		count := min(n-done, perChunk)
		raw := (*scratch)[:count*stride]
		if err := t.readAt(raw, t.offset+int64(start+done)*int64(stride)); err != nil {
			return err
		}
		for i := range count {
			row := raw[i*stride : (i+1)*stride]
			if !bytes.HasPrefix(row, t.prefix) {
				return fmt.Errorf("row %d of %s states another dimension than row 0 (%d); the file is damaged or mixes dimensions: write it again", start+done+i, t.path, t.cols)
			}
			t.element.decode(dst[(done+i)*t.cols:(done+i+1)*t.cols], row[len(t.prefix):])
		}
		done += count
	}
	return nil
}

// readAt fills p from the file, or says that the file became shorter.
func (t *table[T]) readAt(p []byte, at int64) error {
	n, err := t.reader.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s became shorter while in use (nothing at byte %d); restore the file and start again", t.path, at+int64(n))
	}
	return fmt.Errorf("reading %s: %w", t.path, err)
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
