package vectors

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/parquet-go/parquet-go"
)

// npyEncoder writes a C-ordered little-endian array.
type npyEncoder[T cell] struct {
	file    *atomicfile.File
	narrow  bool // two bytes a code
	scratch []byte
}

func newNPYEncoder[T cell](file *atomicfile.File, descr string, shape ...int) (rowEncoder[T], error) {
	_, err := file.Write(npyHead(descr, shape...))
	return &npyEncoder[T]{file: file, narrow: descr == "<u2"}, err
}

func (e *npyEncoder[T]) encode(_ int, values []T) error {
	raw := bytesOf(values)
	if !e.narrow && hostLittleEndian {
		_, err := e.file.Write(raw)
		return err
	}
	e.scratch = e.scratch[:0]
	for i := range values {
		bits := binary.NativeEndian.Uint32(raw[4*i:])
		if e.narrow {
			e.scratch = binary.LittleEndian.AppendUint16(e.scratch, uint16(bits))
		} else {
			e.scratch = binary.LittleEndian.AppendUint32(e.scratch, bits)
		}
	}
	_, err := e.file.Write(e.scratch)
	return err
}

func (e *npyEncoder[T]) finish() error { return nil }

// fvecsEncoder writes every row after its dimension.
type fvecsEncoder struct {
	file    *atomicfile.File
	dim     int
	scratch []byte
}

func (e *fvecsEncoder) encode(_ int, values []float32) error {
	e.scratch = e.scratch[:0]
	for i, v := range values {
		if i%e.dim == 0 {
			e.scratch = binary.LittleEndian.AppendUint32(e.scratch, uint32(e.dim))
		}
		e.scratch = binary.LittleEndian.AppendUint32(e.scratch, math.Float32bits(v))
	}
	_, err := e.file.Write(e.scratch)
	return err
}

func (e *fvecsEncoder) finish() error { return nil }

// jsonlEncoder writes one object a line.
type jsonlEncoder struct {
	file    *atomicfile.File
	levels  int
	scratch []byte
}

func (e *jsonlEncoder) encode(first int, codes []uint32) error {
	e.scratch = e.scratch[:0]
	for i, code := range codes {
		separator := ","
		if i%e.levels == 0 {
			e.scratch = append(e.scratch, `{"row":`...)
			e.scratch = strconv.AppendInt(e.scratch, int64(first+i/e.levels), 10)
			separator = `,"codes":[`
		}
		e.scratch = append(e.scratch, separator...)
		e.scratch = strconv.AppendUint(e.scratch, uint64(code), 10)
		if i%e.levels == e.levels-1 {
			e.scratch = append(e.scratch, "]}\n"...)
		}
	}
	_, err := e.file.Write(e.scratch)
	return err
}

func (e *jsonlEncoder) finish() error { return nil }

// parquetGroupValues bounds how many numbers a parquet writer collects in
// memory before it writes them out as a row group.
const parquetGroupValues = 4 << 20

// parquetRecords is how many records are handed to a parquet writer at a time.
const parquetRecords = 4096

type codesRecord struct {
	Row   int64   `parquet:"row,delta"`
	Codes []int32 `parquet:"codes,list"`
}

type vectorRecord struct {
	Row    int64     `parquet:"row,delta"`
	Vector []float32 `parquet:"vector,list"`
}

// parquetEncoder writes records of type R, each made of one row.
type parquetEncoder[T cell, R any] struct {
	writer  *parquet.GenericWriter[R]
	cols    int
	convert func(row int, values []T) R
	records []R
}

func newParquetEncoder[T cell, R any](file *atomicfile.File, cols int, convert func(row int, values []T) R) *parquetEncoder[T, R] {
	writer := parquet.NewGenericWriter[R](file, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(int64(max(1, parquetGroupValues/cols))))
	return &parquetEncoder[T, R]{writer: writer, cols: cols, convert: convert, records: make([]R, 0, parquetRecords)}
}

func newParquetCodes(file *atomicfile.File, levels int) rowEncoder[uint32] {
	return newParquetEncoder(file, levels, func(row int, values []uint32) codesRecord {
		codes := make([]int32, len(values))
		for i, v := range values {
			codes[i] = int32(v)
		}
		return codesRecord{int64(row), codes}
	})
}

func newParquetVectors(file *atomicfile.File, dim int) rowEncoder[float32] {
	return newParquetEncoder(file, dim, func(row int, values []float32) vectorRecord {
		return vectorRecord{int64(row), values}
	})
}

func (e *parquetEncoder[T, R]) encode(first int, values []T) error {
	for row := range slices.Chunk(values, e.cols) {
		e.records = append(e.records, e.convert(first, row))
		first++
		if len(e.records) == cap(e.records) {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return e.flush()
}

func (e *parquetEncoder[T, R]) flush() error {
	_, err := e.writer.Write(e.records)
	e.records = e.records[:0]
	return err
}

func (e *parquetEncoder[T, R]) finish() error { return e.writer.Close() }
