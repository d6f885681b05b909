package rowfile

import (
	"encoding/binary"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// npyEncoder writes a C-ordered little-endian array.
type npyEncoder[T Cell] struct {
	file    *atomicfile.File
	narrow  bool // two bytes a code
	scratch []byte
}

// NewNPYEncoder writes the header of an array and returns the encoder of its rows.
// Of codes, descr "<u2" stores two bytes each.
func NewNPYEncoder[T Cell](file *atomicfile.File, descr string, shape ...int) (Encoder[T], error) {
	_, err := file.Write(npyHead(descr, shape...))
	return &npyEncoder[T]{file: file, narrow: descr == "<u2"}, err
}

func (e *npyEncoder[T]) Encode(_ int, values []T) error {
	raw := BytesOf(values)
	if !e.narrow && HostLittleEndian {
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

func (e *npyEncoder[T]) Finish() error { return nil }

// parquetGroupValues bounds how many numbers a parquet writer collects in
// memory before it writes them out as a row group.
const parquetGroupValues = 4 << 20

// parquetRecords is how many records are handed to a parquet writer at a time.
const parquetRecords = 4096

// parquetEncoder writes records of type R, each made of one row.
type parquetEncoder[T Cell, R any] struct {
	writer  *parquet.GenericWriter[R]
	cols    int
	convert func(row int, values []T) R
	records []R
}

// NewParquetEncoder returns an encoder that makes a record of every row.
func NewParquetEncoder[T Cell, R any](file *atomicfile.File, cols int, convert func(row int, values []T) R) Encoder[T] {
	groupRows := int64(max(1, parquetGroupValues/cols))
	writer := parquet.NewGenericWriter[R](file, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(groupRows))
	return &parquetEncoder[T, R]{writer: writer, cols: cols, convert: convert, records: make([]R, 0, parquetRecords)}
}

func (e *parquetEncoder[T, R]) Encode(first int, values []T) error {
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

func (e *parquetEncoder[T, R]) Finish() error { return e.writer.Close() }
