package codes

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/rowfile"
)

// PackedExtension is that of the bit-packed format.
const PackedExtension = ".gvq"

// IsPacked reports whether path names a file of the bit-packed format.
func IsPacked(path string) bool { return strings.EqualFold(filepath.Ext(path), PackedExtension) }

// File is a read-only matrix [Len, Levels] of codes behind a file of any
// format. All methods are safe for concurrent use.
type File struct {
	path         string
	rows, levels int
	read         func(start, n int, dst []uint32) error
	closer       io.Closer
	closed       atomic.Bool
	fingerprint  *[32]byte
}

// format reads codes from files and writes them.
type format struct {
	rowfile.Format
	// open returns a File that owns f, unless it fails.
	open func(path string, f *os.File, size int64) (*File, error)
	// create encodes rows of flat codes; shape is the shape of an array of them.
	create func(f *atomicfile.File, c Content, shape []int) (rowfile.Encoder[uint32], error)
}

// formats lists the formats that store codes as numbers; a new one is added
// here.
var formats = []format{npyFormat, parquetFormat, jsonlFormat}

func knownFormats() []rowfile.Format {
	known := make([]rowfile.Format, len(formats))
	for i, f := range formats {
		known[i] = f.Format
	}
	return known
}

// Open returns the codes in a .npy file (uint8, uint16, uint32, or int32 and
// int64 without negative numbers; 1-d arrays count as one level, and the last
// two dimensions of 3-d arrays as one), in a .parquet or .jsonl file of Create, or
// in a packed .gvq file. Errors are one sentence that names the file and a remedy.
func Open(path string) (*File, error) {
	file, size, err := rowfile.Open(path)
	if err != nil {
		return nil, err
	}
	codes, err := openFile(path, file, size)
	if err != nil {
		file.Close()
	}
	return codes, err
}

func openFile(path string, file *os.File, size int64) (*File, error) {
	if IsPacked(path) {
		return openPacked(path, file, size)
	}
	at, err := rowfile.Detect(path, file, "codes", knownFormats())
	if err != nil {
		return nil, err
	}
	return formats[at].open(path, file, size)
}

func openPacked(path string, file *os.File, size int64) (*File, error) {
	explain := func(err error) error { return fmt.Errorf("%s: %w; copy or encode it again", path, err) }
	reader, err := NewReader(file, size)
	if err != nil {
		return nil, explain(err)
	}
	read := func(start, n int, dst []uint32) error {
		if err := reader.ReadRows(uint64(start), n, dst); err != nil {
			return explain(err)
		}
		return nil
	}
	header := reader.Header()
	return &File{path: path, rows: int(header.Rows), levels: header.Levels(), read: read, closer: file, fingerprint: &header.Fingerprint}, nil
}

// tableFile is a File of codes that are stored as a matrix.
func tableFile(t *rowfile.Table[uint32], closer io.Closer) *File {
	return &File{path: t.Path, rows: t.Rows, levels: t.Cols, read: t.ReadRows, closer: closer}
}

// Len is the number of rows.
func (f *File) Len() int { return f.rows }

// Levels is the number of codes of a row.
func (f *File) Levels() int { return f.levels }

// Path is the name the codes were opened by.
func (f *File) Path() string { return f.path }

// Fingerprint identifies the tokenizer that made the codes; ok is false for
// formats that do not store it.
func (f *File) Fingerprint() (fingerprint [32]byte, ok bool) {
	if f.fingerprint == nil {
		return fingerprint, false
	}
	return *f.fingerprint, true
}

// Rows fills dst [n*Levels] with the codes of rows start..start+n. It is an
// error when the rows do not exist, dst has another length, a stored number is
// no code, or the file cannot be read.
func (f *File) Rows(start, n int, dst []uint32) error {
	if f.closed.Load() {
		return fmt.Errorf("reading %s: %w", f.path, os.ErrClosed)
	}
	if err := rowfile.CheckRead(f.path, f.rows, f.levels, start, n, len(dst)); err != nil {
		return err
	}
	return f.read(start, n, dst)
}

// Close releases the file; closing twice is harmless.
func (f *File) Close() error {
	if f.closed.Swap(true) {
		return nil
	}
	return f.closer.Close()
}
