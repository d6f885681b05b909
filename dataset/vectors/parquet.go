package vectors

import (
	"context"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/parquetfile"
	"github.com/gritvq/gritvq/internal/rowfile"
)

var parquetFormat = format{Format: rowfile.Parquet, open: openParquet, selects: true,
	create: func(f *atomicfile.File, dim, _ int) (rowfile.Encoder[float32], error) {
		return rowfile.NewParquetEncoder(f, dim, func(row int, values []float32) vectorRecord {
			return vectorRecord{int64(row), values}
		}), nil
	}}

type vectorRecord struct {
	Row    int64     `parquet:"row,delta"`
	Vector []float32 `parquet:"vector,list"`
}

// openParquet converts a list column of floats, or columns of floats, into a spool.
func openParquet(ctx context.Context, f source, opt Options) (v *Vectors, err error) {
	if opt.Member == "" {
		defer parquetfile.Recover(f.path, &err)
		archive, err := parquetfile.Open(f.path, f, f.size)
		if err != nil {
			return nil, err
		}
		if columns, others := floatColumns(archive); len(columns) > 0 {
			if v, err = openParquetColumns(ctx, f, archive, columns, opt); err == nil {
				v.note = leftOut(others)
			}
			return v, err
		}
	}
	lists := rowfile.Lists{
		Path: f.path, File: f, Size: f.size, Column: opt.Member, Content: "vectors",
		Kinds: floatKinds, SpoolDir: opt.SpoolDir, Progress: opt.Progress,
	}
	table, spool, err := rowfile.SpoolLists(ctx, lists, func(v parquet.Value) (float32, bool) { return floatOf(v), true })
	if err != nil {
		return nil, err
	}
	f.Close()
	return newVectors(f.path, table.Rows, table.Cols, table, spool), nil
}
