package codes

import (
	"context"
	"math"
	"os"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/parquetfile"
	"github.com/gritvq/gritvq/internal/rowfile"
	"github.com/parquet-go/parquet-go"
)

var parquetFormat = format{rowfile.Parquet, openParquet, func(f *atomicfile.File, c Content, _ []int) (rowfile.Encoder[uint32], error) {
	return rowfile.NewParquetEncoder(f, len(c.Vocab), func(row int, values []uint32) codesRecord {
		codes := make([]int32, len(values))
		for i, v := range values {
			codes[i] = int32(v)
		}
		return codesRecord{int64(row), codes}
	}), nil
}}

func openParquet(path string, file *os.File, size int64) (*File, error) {
	lists := rowfile.Lists{
		Path: path, File: file, Size: size, Content: "codes", Kinds: []parquet.Kind{parquet.Int32, parquet.Int64},
		Before: func(archive *parquet.File) error { return checkRowColumn(path, archive) },
	}
	table, spool, err := rowfile.SpoolLists(context.Background(), lists, parquetCode)
	if err != nil {
		return nil, err
	}
	file.Close()
	return tableFile(table, spool), nil
}

// checkRowColumn makes sure that rows were not filtered or shuffled since, if
// the file has a row column.
func checkRowColumn(path string, archive *parquet.File) error {
	column := archive.Root().Column("row")
	if column == nil || !column.Leaf() || column.Type().Kind() != parquet.Int64 {
		return nil
	}
	next := int64(0)
	return parquetfile.EachValue(context.Background(), path, archive, column, func(v parquet.Value) error {
		if v.IsNull() || v.Int64() != next {
			return outOfOrder(path, next, v.Int64())
		}
		next++
		return nil
	})
}

// parquetCode converts an integer column's value to a code.
func parquetCode(v parquet.Value) (uint32, bool) {
	code := v.Int64()
	if v.Kind() == parquet.Int32 {
		code = int64(v.Int32())
	}
	return uint32(code), code >= 0 && code <= math.MaxUint32
}

type codesRecord struct {
	Row   int64   `parquet:"row,delta"`
	Codes []int32 `parquet:"codes,list"`
}
