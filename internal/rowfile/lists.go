package rowfile

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/gritvq/gritvq/internal/parquetfile"
	"github.com/parquet-go/parquet-go"
)

// Lists says which list column of which file to convert.
type Lists struct {
	Path     string
	File     io.ReaderAt
	Size     int64
	Column   string // or "" for the only fitting one
	Content  string // "vectors" or "codes", for errors
	Kinds    []parquet.Kind
	SpoolDir string
	Progress func(done, total int)             // may be nil
	Before   func(archive *parquet.File) error // inspects the file first; may be nil
}

// SpoolLists streams a list column through convert into a spool of rows of
// equal length. convert reports false for a value no T can hold.
func SpoolLists[T Cell](ctx context.Context, in Lists, convert func(parquet.Value) (T, bool)) (t *Table[T], out *Spool, err error) {
	defer func() {
		if err != nil && out != nil {
			out.Close()
		}
	}()
	defer parquetfile.Recover(in.Path, &err) // before the spool is closed
	archive, err := parquetfile.Open(in.Path, in.File, in.Size)
	if err != nil {
		return nil, nil, err
	}
	leaf, err := in.listColumn(archive)
	if err != nil {
		return nil, nil, err
	}
	if in.Before != nil {
		if err := in.Before(archive); err != nil {
			return nil, nil, err
		}
	}
	if out, err = NewSpool(in.SpoolDir, in.Path); err != nil {
		return nil, nil, err
	}
	list := &listCollector[T]{path: in.Path, column: topName(leaf), out: out, total: int(archive.NumRows()), progress: in.Progress}
	err = parquetfile.EachValue(ctx, in.Path, archive, leaf, func(v parquet.Value) error {
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
			return fmt.Errorf("row %d of %s holds a number that is no code (negative, or above 32 bits); check which column was read",
				list.rows, in.Path)
		}
		return list.add(cell)
	})
	if err == nil {
		err = list.endRow()
	}
	if err == nil && list.rows == 0 {
		err = fmt.Errorf("%s has no rows; check what was saved", in.Path)
	}
	if err == nil && list.rows != list.total {
		err = fmt.Errorf("%s is a damaged parquet file (%d rows stated, %d found); copy or write it again", in.Path, list.total, list.rows)
	}
	if err == nil {
		err = out.Finish()
	}
	return SpooledTable[T](in.Path, out, list.rows, list.dim), out, err
}

// listCollector gathers the values of one row after the other.
type listCollector[T Cell] struct {
	path, column string
	out          *Spool
	row          []T
	open         bool // a row has begun
	rows, dim    int
	total        int
	progress     func(done, total int)
}

func (l *listCollector[T]) add(value T) error {
	l.open = true
	if len(l.row) >= MaxDim {
		return fmt.Errorf("row %d of %s has more than %d numbers in column %s; rows are vectors", l.rows, l.path, MaxDim, l.column)
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
		return fmt.Errorf("row %d of %s has %d numbers in column %s, the rows before it have %d; all must be of one length",
			l.rows, l.path, len(l.row), l.column, l.dim)
	}
	_, err := l.out.Write(BytesOf(l.row))
	l.row, l.open = l.row[:0], false
	l.rows++
	if l.progress != nil && (l.rows%4096 == 0 || l.rows == l.total) {
		l.progress(l.rows, l.total)
	}
	return err
}

// listColumn finds the wanted column, or the only list of fitting numbers.
func (in *Lists) listColumn(archive *parquet.File) (*parquet.Column, error) {
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
		for _, kind := range in.Kinds {
			if list && c.Type().Kind() == kind {
				fitting = append(fitting, c)
				names = append(names, topName(c))
			}
		}
	}
	walk(archive.Root())
	if in.Column != "" {
		for _, c := range fitting {
			if topName(c) == in.Column || strings.Join(c.Path(), ".") == in.Column {
				return c, nil
			}
		}
		return nil, fmt.Errorf("%s has no column %q of lists of %s; its columns are %s",
			in.Path, in.Column, kindList(in.Kinds), strings.Join(all, ", "))
	}
	switch len(fitting) {
	case 1:
		return fitting[0], nil
	case 0:
		return nil, fmt.Errorf("%s has no column of lists of %s to take %s from; its columns are %s",
			in.Path, kindList(in.Kinds), in.Content, strings.Join(all, ", "))
	}
	return nil, fmt.Errorf("%s has several columns of lists of %s (%s); choose one by name",
		in.Path, kindList(in.Kinds), strings.Join(names, ", "))
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
