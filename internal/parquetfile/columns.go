// Package parquetfile reads columns of parquet files, page by page, and turns
// damage into errors.
package parquetfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/internal/memory"
)

// Columns are the flat columns of a parquet file: those with one value a row.
type Columns struct {
	path    string
	archive *parquet.File
	names   []string
}

// OpenColumns looks at the columns of the parquet file behind path, which stays
// the caller's to close. Errors are one sentence that names the file.
func OpenColumns(path string, file io.ReaderAt, size int64) (c *Columns, err error) {
	defer Recover(path, &err)
	archive, err := Open(path, file, size)
	if err != nil {
		return nil, err
	}
	c = &Columns{path: path, archive: archive}
	for _, column := range archive.Root().Columns() {
		if column.Leaf() && column.MaxRepetitionLevel() == 0 {
			c.names = append(c.names, column.Name())
		}
	}
	return c, nil
}

// Names returns the names of the columns, in the order of the file.
func (c *Columns) Names() []string { return c.names }

// EachRow calls visit with the values of the named columns, row by row, holding
// one page of each at a time. The values are valid until visit returns; its
// error ends the walk. ctx stops it too.
func (c *Columns) EachRow(ctx context.Context, names []string, visit func(values []parquet.Value) error) (err error) {
	defer Recover(c.path, &err)
	for _, name := range names {
		if !slices.Contains(c.names, name) {
			return fmt.Errorf("%s has no column %s with one value a row; its columns are %s", c.path, name, strings.Join(c.names, ", "))
		}
	}
	row := int64(0)
	for i, group := range c.archive.RowGroups() {
		if err := c.eachRowOf(ctx, i, names, row, visit); err != nil {
			return err
		}
		row += group.NumRows()
	}
	return nil
}

// eachRowOf visits the rows of one group, starting at row.
func (c *Columns) eachRowOf(ctx context.Context, group int, names []string, row int64,
	visit func([]parquet.Value) error) error {
	readers, values := make([]*columnReader, len(names)), make([]parquet.Value, len(names))
	for i, name := range names {
		var err error
		if readers[i], err = newColumnReader(c.archive, group, c.archive.Root().Column(name)); err != nil {
			return damaged(c.path, err)
		}
		defer readers[i].close()
	}
	for range c.archive.RowGroups()[group].NumRows() {
		for i, r := range readers {
			var err error
			if values[i], err = r.next(ctx); err != nil && ctx.Err() != nil {
				return stopped(ctx, c.path)
			} else if err != nil {
				return fmt.Errorf("%s is a damaged parquet file (row %d, column %s: %w); copy or write it again", c.path, row, names[i], err)
			}
		}
		if err := visit(values); err != nil {
			return err
		}
		row++
	}
	return nil
}

// Open opens a parquet file. It checks the footer first, so that the decoder
// does not allocate the sizes that a damaged one claims.
func Open(path string, file io.ReaderAt, size int64) (*parquet.File, error) {
	if text, err := isText(file); err != nil || text {
		return nil, cmp.Or(err, fmt.Errorf("%s is no parquet file but text; if it is a table, name it .csv or .tsv", path))
	}
	if size < 12 {
		return nil, fmt.Errorf("%s is a truncated parquet file: expected at least 12 bytes, found %d; copy or write it again", path, size)
	}
	var tail [8]byte // length of the footer, magic
	if _, err := file.ReadAt(tail[:], size-8); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if length := int64(binary.LittleEndian.Uint32(tail[:])); string(tail[4:]) != "PAR1" || length > size-12 {
		return nil, fmt.Errorf("%s is a truncated or damaged parquet file: no footer at the end of its %d bytes; copy or write it again",
			path, size)
	}
	archive, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%s is a truncated or damaged parquet file (%w; %d bytes found); copy or write it again", path, err, size)
	}
	return archive, nil
}

// isText reports whether a file begins with printable text, as no parquet file does beyond its magic.
func isText(file io.ReaderAt) (bool, error) {
	head := make([]byte, 256)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	control := func(b byte) bool { return b < ' ' && b != '\t' && b != '\n' && b != '\r' }
	return n > 0 && !bytes.HasPrefix(head[:n], []byte("PAR1")) && !slices.ContainsFunc(head[:n], control), nil
}

// Recover turns a panic of the decoder, which some damaged pages cause, into an
// error. Defer it.
func Recover(path string, err *error) {
	if problem := recover(); problem != nil {
		*err = damaged(path, fmt.Errorf("%v", problem))
	}
}

// damaged is the error of a file whose content cannot be read for a reason. A lack of memory is no damage.
func damaged(path string, reason error) error {
	if lack, ok := errors.AsType[*memory.Exceeded](reason); ok {
		return lack
	}
	return fmt.Errorf("%s is a damaged parquet file (%w); copy or write it again", path, reason)
}

func stopped(ctx context.Context, path string) error {
	return fmt.Errorf("reading %s was stopped: %w", path, ctx.Err())
}

// EachValue calls visit with every value of a column, in order.
func EachValue(
	ctx context.Context, path string, archive *parquet.File, leaf *parquet.Column, visit func(parquet.Value) error,
) error {
	for group := range archive.RowGroups() {
		r, err := newColumnReader(archive, group, leaf)
		if err != nil {
			return damaged(path, err)
		}
		if err := eachValueOf(ctx, path, r, visit); err != nil {
			return err
		}
	}
	return nil
}

// eachValueOf visits the values of one row group and closes the reader.
func eachValueOf(ctx context.Context, path string, r *columnReader, visit func(parquet.Value) error) error {
	defer r.close()
	for {
		err := r.fill(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && ctx.Err() != nil:
			return stopped(ctx, path)
		case err != nil:
			return damaged(path, err)
		}
		for _, v := range r.left {
			if err := visit(v); err != nil {
				return err
			}
		}
	}
}

// columnReader walks through one column of a row group, holding one page at a
// time.
type columnReader struct {
	pages  parquet.Pages
	page   parquet.Page // nil before the first and between two
	values parquet.ValueReader
	buffer []parquet.Value
	left   []parquet.Value // of the buffer, not yet taken
	ended  bool            // the page has no more values than these
	failed error           // met behind these
}

// newColumnReader reads a column of a row group, whose pages it checks first.
func newColumnReader(archive *parquet.File, group int, leaf *parquet.Column) (*columnReader, error) {
	if err := checkPages(archive, group, leaf.Index()); err != nil {
		return nil, err
	}
	return &columnReader{pages: archive.RowGroups()[group].ColumnChunks()[leaf.Index()].Pages(), buffer: make([]parquet.Value, 1024)}, nil
}

// next returns one value after the other; a column that ends before its rows do
// is an error.
func (r *columnReader) next(ctx context.Context) (parquet.Value, error) {
	if len(r.left) == 0 {
		if err := r.fill(ctx); errors.Is(err, io.EOF) {
			return parquet.Value{}, io.ErrUnexpectedEOF
		} else if err != nil {
			return parquet.Value{}, err
		}
	}
	v := r.left[0]
	r.left = r.left[1:]
	return v, nil
}

// fill makes left the next values of the column, at least one, or returns io.EOF.
// It invalidates earlier values, since it releases their page.
func (r *columnReader) fill(ctx context.Context) error {
	for r.left = nil; len(r.left) == 0; {
		if r.failed != nil {
			return r.failed
		}
		if r.ended {
			r.release()
		}
		if r.page == nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			page, err := r.pages.ReadPage()
			if err != nil {
				return err
			}
			r.page, r.values = page, page.Values()
		}
		n, err := r.values.ReadValues(r.buffer)
		r.left = r.buffer[:n]
		switch {
		case errors.Is(err, io.EOF), n == 0 && err == nil:
			r.ended = true
		case err != nil:
			r.failed = err
		}
	}
	return nil
}

func (r *columnReader) release() {
	parquet.Release(r.page)
	r.page, r.ended = nil, false
}

func (r *columnReader) close() {
	if r.page != nil {
		r.release()
	}
	r.pages.Close()
}
