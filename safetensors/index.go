package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// Extent is the place of a tensor in a file.
type Extent struct {
	Name   string
	DType  DType
	Shape  []int
	Offset int64 // of its first byte, from the start of the file
	Bytes  int64
}

// Index reads the header of a file of size bytes: its tensors, in the order of
// their data, and the metadata. It reads no data and fails as [Decode] does.
func Index(file io.ReaderAt, size int64) ([]Extent, map[string]string, error) {
	if size < 8 {
		return nil, nil, fmt.Errorf("truncated: %d bytes, not even the 8 of the header's length", size)
	}
	var head [8]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return nil, nil, err
	}
	length := binary.LittleEndian.Uint64(head[:])
	if length > maxHeaderBytes {
		return nil, nil, fmt.Errorf("header length %d is above the %d the format allows", length, maxHeaderBytes)
	}
	if length > uint64(size-8) {
		return nil, nil, fmt.Errorf("truncated: the header takes %d bytes but only %d follow", length, size-8)
	}
	header := make([]byte, length)
	if n, err := file.ReadAt(header, 8); n < len(header) {
		return nil, nil, err
	}
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, errors.New("the header does not start with {")
	}
	if !utf8.Valid(header) {
		return nil, nil, errors.New("the header is not UTF-8")
	}
	entries, metadata, err := parseHeader(bytes.TrimRight(header, " "))
	if err != nil {
		return nil, nil, err
	}
	extents, err := layOut(entries, size-8-int64(length))
	for i := range extents {
		extents[i].Offset += 8 + int64(length)
	}
	return extents, metadata, err
}

// layOut places the tensors of entries in size bytes of data, which they have to
// cover exactly, without holes or overlaps.
func layOut(entries []entry, size int64) ([]Extent, error) {
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end)) })
	extents := make([]Extent, 0, len(entries))
	offset, previous := int64(0), ""
	for _, e := range entries {
		begin, end := int64(e.begin), int64(e.end)
		switch {
		case end < begin:
			return nil, fmt.Errorf("tensor %q ends at byte %d, before it begins at %d", e.name, end, begin)
		case begin < offset:
			return nil, fmt.Errorf("tensor %q begins at byte %d, inside tensor %q which ends at %d", e.name, begin, previous, offset)
		case begin > offset:
			return nil, fmt.Errorf("bytes %d to %d before tensor %q belong to no tensor", offset, begin, e.name)
		case end > size:
			return nil, fmt.Errorf("truncated: tensor %q ends at byte %d of %d", e.name, end, size)
		}
		if err := checkSize(e.name, e.dtype, e.shape, end-begin); err != nil {
			return nil, err
		}
		extents = append(extents, Extent{Name: e.name, DType: e.dtype, Shape: e.shape, Offset: begin, Bytes: end - begin})
		offset, previous = end, e.name
	}
	if offset != size {
		return nil, fmt.Errorf("the last %d bytes belong to no tensor", size-offset)
	}
	return extents, nil
}
