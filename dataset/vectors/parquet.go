package vectors

import (
	"context"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/rowfile"
)

var parquetFormat = format{rowfile.Parquet, openParquet, func(f *atomicfile.File, dim, _ int) (rowfile.Encoder[float32], error) {
	return rowfile.NewParquetEncoder(f, dim, func(row int, values []float32) vectorRecord {
		return vectorRecord{int64(row), values}
	}), nil
}}

type vectorRecord struct {
	Row    int64     `parquet:"row,delta"`
	Vector []float32 `parquet:"vector,list"`
}

// openParquet converts a list column of floats into a spool.
func openParquet(ctx context.Context, f source, opt Options) (*Vectors, error) {
	lists := rowfile.Lists{
		Path: f.path, File: f, Size: f.size, Column: opt.Column, Content: "vectors",
		Kinds: []parquet.Kind{parquet.Float, parquet.Double}, SpoolDir: opt.SpoolDir, Progress: opt.Progress,
	}
	table, spool, err := rowfile.SpoolLists(ctx, lists, func(v parquet.Value) (float32, bool) {
		if v.Kind() == parquet.Double {
			return float32(v.Double()), true
		}
		return v.Float(), true
	})
	if err != nil {
		return nil, err
	}
	f.Close()
	return newVectors(f.path, table.Rows, table.Cols, table, spool), nil
}
