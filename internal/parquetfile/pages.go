package parquetfile

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/gritvq/gritvq/internal/memory"
)

// Writers make pages of a few MiB, and of 100 MiB at most.
const (
	mostPageBytes  = 256 << 20
	mostPageValues = 1 << 24 // or one a byte, if there are more bytes
	valueBytes     = 16      // that the decoder holds of a value, with its levels
)

// CheckPages reads the headers of all pages of a file, for those who read its rows with the decoder alone.
func CheckPages(archive *parquet.File) error {
	for group, meta := range archive.Metadata().RowGroups {
		for column := range meta.Columns {
			if err := checkPages(archive, group, column); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPages reads the headers of all pages of a column. The decoder allocates the sizes that they state.
func checkPages(archive *parquet.File, group, column int) error {
	meta := archive.Metadata().RowGroups[group].Columns[column].MetaData
	begin := meta.DataPageOffset
	if meta.DictionaryPageOffset != 0 {
		begin = meta.DictionaryPageOffset
	}
	if begin < 0 || meta.TotalCompressedSize < 0 || meta.TotalCompressedSize > archive.Size()-begin {
		return fmt.Errorf("a column of %d bytes from byte %d in a file of %d bytes", meta.TotalCompressedSize, begin, archive.Size())
	}
	for at, end := begin, begin+meta.TotalCompressedSize; at < end; {
		header, size, err := readHeader(archive, at, end-at)
		if err != nil {
			return err
		}
		at += size
		if err := checkPage(header, end-at); err != nil {
			return err
		}
		at += int64(header.CompressedPageSize)
	}
	return nil
}

// Most headers are small, but they may hold the least and the largest value of their page.
const (
	usualHeader = 1 << 12
	mostHeader  = 1 << 24
)

// readHeader reads the header of a page, and its size, from so many bytes. It reads them first, because the decoder allocates
// what they state.
func readHeader(file io.ReaderAt, at, left int64) (header format.PageHeader, size int64, err error) {
	for n := min(left, usualHeader); ; n = min(left, 16*n) {
		content := make([]byte, n)
		if _, err := file.ReadAt(content, at); err != nil {
			return header, 0, err
		}
		header = format.PageHeader{}
		reader := new(thrift.CompactProtocol).NewReaderFromBytes(content)
		if err = thrift.NewDecoder(reader).Decode(&header); err == nil {
			return header, int64(reader.BytesRead()), nil
		}
		if n == left || n >= mostHeader {
			return header, 0, fmt.Errorf("no page at byte %d: %w", at, err)
		}
	}
}

// checkPage checks the sizes that a page states, behind whose header so many bytes are left.
func checkPage(header format.PageHeader, left int64) error {
	stored, plain, values := int64(header.CompressedPageSize), int64(header.UncompressedPageSize), pageValues(header)
	switch {
	case stored < 0 || stored > left:
		return fmt.Errorf("a page of %d bytes where %d are left", stored, left)
	case plain < 0 || plain > mostPageBytes:
		return fmt.Errorf("a page of %d bytes, and at most %d are read; write it with smaller pages", plain, mostPageBytes)
	case values < 0 || values > max(mostPageValues, plain):
		return fmt.Errorf("a page of %d values in %d bytes, and at most %d are read; write it with smaller pages", values, plain, mostPageValues)
	}
	return memory.Check("a page of a parquet file", int(stored+plain+valueBytes*values))
}

func pageValues(header format.PageHeader) int64 {
	switch {
	case header.DataPageHeader.Valid:
		return int64(header.DataPageHeader.V.NumValues)
	case header.DataPageHeaderV2.Valid:
		return int64(header.DataPageHeaderV2.V.NumValues)
	case header.DictionaryPageHeader.Valid:
		return int64(header.DictionaryPageHeader.V.NumValues)
	}
	return 0
}
