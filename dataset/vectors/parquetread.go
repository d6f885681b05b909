package vectors

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// openParquetVectors converts a list column of floats into a spool.
func openParquetVectors(ctx context.Context, path string, file *os.File, size int64, opt Options) (*Vectors, error) {
	out, rows, dim, err := spoolParquet(ctx, parquetInput{
		path: path, file: file, size: size, column: opt.Column, what: "vectors", kinds: []parquet.Kind{parquet.Float, parquet.Double},
	}, opt, func(v parquet.Value) (float32, bool) {
		if v.Kind() == parquet.Double {
			return float32(v.Double()), true
		}
		return v.Float(), true
	})
	if err != nil {
		return nil, err
	}
	file.Close()
	t := &table[float32]{path: path, reader: out, rows: rows, cols: dim, element: spooled[float32]()}
	return newVectors(path, rows, dim, t, out), nil
}

// parquetInput says which list column of which file to convert.
type parquetInput struct {
	path   string
	file   io.ReaderAt
	size   int64
	column string // or "" for the only fitting one
	what   string // the rows hold, for errors
	kinds  []parquet.Kind
	// before, if set, inspects the opened file first.
	before func(*parquet.File) error
}

// spoolParquet streams a list column through convert into a spool of rows of
// equal length. convert reports false for a value no T can hold.
func spoolParquet[T cell](ctx context.Context, in parquetInput, opt Options, convert func(parquet.Value) (T, bool)) (out *spool, rows, dim int, err error) {
	defer func() {
		if err != nil && out != nil {
			out.Close()
		}
	}()
	defer recoverDamage(in.path, &err) // before the spool is closed
	archive, err := openParquet(in.path, in.file, in.size)
	if err != nil {
		return nil, 0, 0, err
	}
	leaf, err := in.listColumn(archive)
	if err != nil {
		return nil, 0, 0, err
	}
	if in.before != nil {
		if err := in.before(archive); err != nil {
			return nil, 0, 0, err
		}
	}
	if out, err = newSpool(opt.SpoolDir, in.path); err != nil {
		return nil, 0, 0, err
	}
	list := &listCollector[T]{path: in.path, column: topName(leaf), out: out, total: int(archive.NumRows()), progress: opt.Progress}
	err = forEachValue(ctx, in.path, archive, leaf, func(v parquet.Value) error {
		if v.RepetitionLevel() == 0 {
			if err := list.endRow(); err != nil {
				return err
			}
		}
		if v.IsNull() {
			return list.missing(leaf.Optional() && v.DefinitionLevel() == leaf.MaxDefinitionLevel()-1)
		}
		cell, ok := convert(v)
		if !ok {
			return fmt.Errorf("row %d of %s holds a number that is no code (negative, or above 32 bits); check which column was read", list.rows, in.path)
		}
		return list.add(cell)
	})
	if err == nil {
		err = list.endRow()
	}
	if err == nil && list.rows == 0 {
		err = fmt.Errorf("%s has no rows; check what was saved", in.path)
	}
	if err == nil && list.rows != list.total {
		err = fmt.Errorf("%s is a damaged parquet file (%d rows stated, %d found); copy or write it again", in.path, list.total, list.rows)
	}
	if err == nil {
		err = out.finish()
	}
	return out, list.rows, list.dim, err
}

// listCollector gathers the values of one row after the other.
type listCollector[T cell] struct {
	path, column string
	out          *spool
	row          []T
	open         bool // a row has begun
	rows, dim    int
	total        int
	progress     func(done, total int)
}

func (l *listCollector[T]) add(value T) error {
	l.open = true
	if len(l.row) >= maxDim {
		return fmt.Errorf("row %d of %s has more than %d numbers in column %s; rows are vectors", l.rows, l.path, maxDim, l.column)
	}
	l.row = append(l.row, value)
	return nil
}

// missing explains a null: inside a list, or instead of one.
func (l *listCollector[T]) missing(inside bool) error {
	if inside {
		return fmt.Errorf("row %d of %s holds a null in column %s; fill or drop it", l.rows, l.path, l.column)
	}
	return fmt.Errorf("row %d of %s has an empty or missing list in column %s; fill or drop the row", l.rows, l.path, l.column)
}

func (l *listCollector[T]) endRow() error {
	if !l.open {
		return nil
	}
	if l.dim == 0 {
		l.dim = len(l.row)
	}
	if len(l.row) != l.dim {
		return fmt.Errorf("row %d of %s has %d numbers in column %s, the rows before it have %d; all must be of one length", l.rows, l.path, len(l.row), l.column, l.dim)
	}
	_, err := l.out.Write(bytesOf(l.row))
	l.row, l.open = l.row[:0], false
	l.rows++
	if l.progress != nil && (l.rows%4096 == 0 || l.rows == l.total) {
		l.progress(l.rows, l.total)
	}
	return err
}

// listColumn finds the wanted column, or the only list of fitting numbers.
func (in *parquetInput) listColumn(archive *parquet.File) (*parquet.Column, error) {
	var fitting []*parquet.Column
	var all, names []string
	var walk func(c *parquet.Column)
	walk = func(c *parquet.Column) {
		for _, child := range c.Columns() {
			walk(child)
		}
		if !c.Leaf() {
			return
		}
		list := c.MaxRepetitionLevel() == 1
		all = append(all, columnText(c, list))
		for _, kind := range in.kinds {
			if list && c.Type().Kind() == kind {
				fitting = append(fitting, c)
				names = append(names, topName(c))
			}
		}
	}
	walk(archive.Root())
	if in.column != "" {
		for _, c := range fitting {
			if topName(c) == in.column || strings.Join(c.Path(), ".") == in.column {
				return c, nil
			}
		}
		return nil, fmt.Errorf("%s has no column %q of lists of %s; its columns are %s", in.path, in.column, kindList(in.kinds), strings.Join(all, ", "))
	}
	switch len(fitting) {
	case 1:
		return fitting[0], nil
	case 0:
		return nil, fmt.Errorf("%s has no column of lists of %s to take %s from; its columns are %s", in.path, kindList(in.kinds), in.what, strings.Join(all, ", "))
	}
	return nil, fmt.Errorf("%s has several columns of lists of %s (%s); choose one by name", in.path, kindList(in.kinds), strings.Join(names, ", "))
}

func columnText(c *parquet.Column, list bool) string {
	kind := strings.ToLower(c.Type().Kind().String())
	if list {
		kind = "list of " + kind
	}
	return topName(c) + " (" + kind + ")"
}

// topName is the name a user sees: without the list/element levels below it.
func topName(c *parquet.Column) string { return c.Path()[0] }

func kindList(kinds []parquet.Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = strings.ToLower(kind.String())
	}
	return strings.Join(names, " or ")
}

// parquetCode converts an integer column's value to a code.
func parquetCode(v parquet.Value) (uint32, bool) {
	code := v.Int64()
	if v.Kind() == parquet.Int32 {
		code = int64(v.Int32())
	}
	return uint32(code), code >= 0 && code <= math.MaxUint32
}
