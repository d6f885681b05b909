package vectors

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/parquet-go/parquet-go"
)

// Codes is a read-only matrix [Len, Levels] of codes behind a file. All
// methods are safe for concurrent use.
type Codes struct {
	table  *table[uint32]
	closer io.Closer
	closed atomic.Bool
}

// OpenCodes returns the codes in a .npy file (uint8, uint16, uint32, or int32
// and int64 without negative numbers; 1-d arrays count as one level, and the
// last two dimensions of 3-d arrays as one), or in a
// .parquet or .jsonl file as CreateCodes writes them. Errors are one sentence
// that names the file and what to do.
func OpenCodes(path string) (*Codes, error) {
	file, size, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	codes, err := openCodes(path, file, size)
	if err != nil {
		file.Close()
		return nil, err
	}
	return codes, nil
}

// codeFormats are those of codes as numbers.
const codeFormats = ".npy, .parquet or .jsonl"

// openCodes chooses the reader. The Codes it returns owns file.
func openCodes(path string, file *os.File, size int64) (*Codes, error) {
	format, err := detect(path, file, codeFormats)
	if err != nil {
		return nil, err
	}
	switch format {
	case ".npy":
		return openNPYCodes(path, file, size)
	case ".parquet":
		return openParquetCodes(path, file, size)
	case ".jsonl":
		return openJSONLCodes(path, file)
	}
	return nil, fmt.Errorf("%s holds no codes this program can read; expected %s", path, codeFormats)
}

// Len is the number of rows.
func (c *Codes) Len() int { return c.table.rows }

// Levels is the number of codes of a row.
func (c *Codes) Levels() int { return c.table.cols }

// Path is the name the codes were opened by.
func (c *Codes) Path() string { return c.table.path }

// Rows fills dst [n*Levels] with the codes of rows start..start+n. It is an
// error when the rows do not exist, dst has another length, a stored number is
// no code, or the file cannot be read.
func (c *Codes) Rows(start, n int, dst []uint32) error {
	t := c.table
	switch {
	case c.closed.Load():
		return fmt.Errorf("reading %s: %w", t.path, os.ErrClosed)
	case start < 0 || n < 0 || start > t.rows-n:
		return fmt.Errorf("reading %s: rows %d to %d do not exist, it has %d", t.path, start, start+n-1, t.rows)
	case len(dst) != n*t.cols:
		return fmt.Errorf("reading %s: a buffer of %d codes cannot hold %d rows of %d", t.path, len(dst), n, t.cols)
	}
	return t.readRows(start, n, dst)
}

// Close releases the file; closing twice is harmless.
func (c *Codes) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	return c.closer.Close()
}

func openNPYCodes(path string, file *os.File, size int64) (*Codes, error) {
	header, err := readNPYHeader(path, io.NewSectionReader(file, 0, size))
	if err != nil {
		return nil, err
	}
	element, ok := codeElement(header.descr)
	if !ok {
		return nil, fmt.Errorf("%s holds numbers of type %s, expected codes of type uint8, uint16, uint32, int32 or int64; check which array was saved", path, header.typeText())
	}
	switch {
	case len(header.shape) == 1:
		header.shape = append(header.shape, 1)
		header.fortran = false
	case len(header.shape) == 3 && !header.fortran: // pictures, cells, levels
		header.shape = []int{header.shape[0], header.shape[1] * header.shape[2]}
	}
	if len(header.shape) != 2 || header.shape[1] < 1 || header.shape[1] > maxDim {
		return nil, fmt.Errorf("%s has shape %s, expected codes of shape (rows, levels); reshape and save it again", path, header.shapeText())
	}
	if header.fortran && header.shape[0] > 1 && header.shape[1] > 1 {
		return nil, fmt.Errorf("%s is stored in Fortran order; save numpy.ascontiguousarray(a) instead", path)
	}
	if err := header.checkLength(path, element.size, size); err != nil {
		return nil, err
	}
	t := &table[uint32]{path: path, reader: file, offset: header.offset, rows: header.shape[0], cols: header.shape[1], element: element}
	return &Codes{table: t, closer: file}, nil
}

func openParquetCodes(path string, file *os.File, size int64) (*Codes, error) {
	in := parquetInput{path: path, file: file, size: size, what: "codes", kinds: []parquet.Kind{parquet.Int32, parquet.Int64}}
	in.before = func(archive *parquet.File) error { return checkRowColumn(path, archive) }
	out, rows, levels, err := spoolParquet(context.Background(), in, Options{}, parquetCode)
	if err != nil {
		return nil, err
	}
	file.Close()
	return spooledCodes(path, out, rows, levels), nil
}

// checkRowColumn makes sure that rows were not filtered or shuffled since, if
// the file has a row column.
func checkRowColumn(path string, archive *parquet.File) error {
	column := archive.Root().Column("row")
	if column == nil || !column.Leaf() || column.Type().Kind() != parquet.Int64 {
		return nil
	}
	next := int64(0)
	return forEachValue(context.Background(), path, archive, column, func(v parquet.Value) error {
		if v.IsNull() || v.Int64() != next {
			return outOfOrder(path, next, v.Int64())
		}
		next++
		return nil
	})
}

func outOfOrder(path string, want, got int64) error {
	return fmt.Errorf("row %d of %s is numbered %d; codes must be complete and in order: sort them by row, or write them again", want, path, got)
}

func spooledCodes(path string, out *spool, rows, levels int) *Codes {
	t := &table[uint32]{path: path, reader: out, rows: rows, cols: levels, element: spooled[uint32]()}
	return &Codes{table: t, closer: out}
}

// maxLine bounds a line of a .jsonl file.
const maxLine = 16 << 20

func openJSONLCodes(path string, file *os.File) (*Codes, error) {
	out, err := newSpool("", path)
	if err != nil {
		return nil, err
	}
	rows, levels, err := spoolJSONL(path, file, out)
	if err == nil {
		err = out.finish()
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	file.Close()
	return spooledCodes(path, out, rows, levels), nil
}

func spoolJSONL(path string, file io.Reader, out *spool) (rows, levels int, err error) {
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var record struct {
			Row   *int64   `json:"row"`
			Codes []uint32 `json:"codes"`
		}
		if err := json.Unmarshal(line, &record); err != nil || len(record.Codes) == 0 || bytes.Contains(line, []byte("null")) {
			return 0, 0, fmt.Errorf(`row %d of %s is no line like {"row":%d,"codes":[1,2]}: %.60q`, rows, path, rows, line)
		}
		if record.Row != nil && *record.Row != int64(rows) {
			return 0, 0, outOfOrder(path, int64(rows), *record.Row)
		}
		if rows == 0 {
			levels = len(record.Codes)
		}
		if len(record.Codes) != levels {
			return 0, 0, fmt.Errorf("row %d of %s has %d codes, the rows before it have %d; all must be of one length", rows, path, len(record.Codes), levels)
		}
		if _, err := out.Write(bytesOf(record.Codes)); err != nil {
			return 0, 0, err
		}
		rows++
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return 0, 0, fmt.Errorf("row %d of %s is longer than %d bytes; it is no file of codes", rows, path, maxLine)
	}
	if lines.Err() != nil {
		return 0, 0, fmt.Errorf("reading %s: %w", path, lines.Err())
	}
	if rows == 0 {
		return 0, 0, fmt.Errorf("%s has no rows; check what was saved", path)
	}
	return rows, levels, nil
}
