package vectors

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/internal/parquetfile"
	"github.com/gritvq/gritvq/internal/rowfile"
)

// floatKinds are the parquet types of numbers of vectors.
var floatKinds = []parquet.Kind{parquet.Float, parquet.Double}

// floatColumns returns the columns with one float a row, and the names of the
// others, if the file has a column a dimension: several of them and no lists.
func floatColumns(archive *parquet.File) (columns []*parquet.Column, others []string) {
	for _, c := range archive.Root().Columns() {
		switch {
		case !c.Leaf() && hasFloatLists(c), c.Leaf() && c.Repeated() && slices.Contains(floatKinds, c.Type().Kind()):
			return nil, nil
		case c.Leaf() && !c.Repeated() && slices.Contains(floatKinds, c.Type().Kind()) && !strings.HasPrefix(c.Name(), "__index_level_"):
			columns = append(columns, c)
		default:
			others = append(others, c.Name())
		}
	}
	if len(columns) < 2 { // a single number is a score, not a vector
		return nil, nil
	}
	return columns, others
}

func hasFloatLists(c *parquet.Column) bool {
	if c.Leaf() {
		return c.MaxRepetitionLevel() == 1 && slices.Contains(floatKinds, c.Type().Kind())
	}
	return slices.ContainsFunc(c.Columns(), hasFloatLists)
}

// openParquetColumns converts columns into rows. Each is copied into a spool on
// its own, since a page of every column need not fit into memory, and their
// spool is then transposed.
func openParquetColumns(ctx context.Context, f source, archive *parquet.File, columns []*parquet.Column,
	opt Options) (v *Vectors, err error) {
	if len(columns) > maxDim {
		return nil, fmt.Errorf("%s has %d columns of numbers, at most %d are supported; rows are vectors", f.path, len(columns), maxDim)
	}
	if archive.NumRows() == 0 {
		return nil, fmt.Errorf("%s has no rows; check what was saved", f.path)
	}
	byColumn, err := rowfile.NewSpool(opt.SpoolDir, f.path)
	if err != nil {
		return nil, err
	}
	defer byColumn.Close()
	defer parquetfile.Recover(f.path, &err)
	for _, c := range columns {
		if err := copyColumn(ctx, f.path, archive, c, byColumn); err != nil {
			return nil, err
		}
	}
	if err := byColumn.Finish(); err != nil {
		return nil, err
	}
	table := rowfile.SpooledTable[float32](f.path, byColumn, int(archive.NumRows()), len(columns))
	rows, err := transposed(ctx, table, opt)
	if err != nil {
		return nil, err
	}
	f.Close()
	return newVectors(f.path, table.Rows, table.Cols, rowfile.SpooledTable[float32](f.path, rows, table.Rows, table.Cols), rows), nil
}

// copyColumn appends the numbers of a column to a spool.
func copyColumn(ctx context.Context, path string, archive *parquet.File, c *parquet.Column, out *rowfile.Spool) error {
	block := make([]float32, 0, 4096)
	row := int64(0)
	flush := func() error {
		_, err := out.Write(rowfile.BytesOf(block))
		block = block[:0]
		return err
	}
	err := parquetfile.EachValue(ctx, path, archive, c, func(v parquet.Value) error {
		if v.IsNull() {
			return fmt.Errorf("row %d of %s holds a null in column %s; fill or drop it", row, path, c.Name())
		}
		block = append(block, floatOf(v))
		if row++; len(block) == cap(block) {
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if row != archive.NumRows() {
		return fmt.Errorf("%s is a damaged parquet file (%d rows stated, %d found in column %s); copy or write it again",
			path, archive.NumRows(), row, c.Name())
	}
	return flush()
}

func floatOf(v parquet.Value) float32 {
	if v.Kind() == parquet.Double {
		return float32(v.Double())
	}
	return v.Float()
}
