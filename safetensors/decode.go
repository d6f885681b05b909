package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// File is the content of one safetensors file.
type File struct {
	Tensors  []Tensor          // in the order of their data
	Metadata map[string]string // nil when the file has none
	byName   map[string]int
}

// Get returns the tensor called name; the error lists the names there are.
func (f *File) Get(name string) (Tensor, error) {
	if i, ok := f.byName[name]; ok {
		return f.Tensors[i], nil
	}
	const listed = 8
	var names []string
	for _, t := range f.Tensors[:min(listed, len(f.Tensors))] {
		names = append(names, t.Name)
	}
	if len(f.Tensors) > listed {
		names = append(names, "...")
	}
	return Tensor{}, fmt.Errorf("no tensor %q among the %d of the file (%s)", name, len(f.Tensors), strings.Join(names, ", "))
}

// Read loads the file at path. See [Decode].
func Read(path string) (*File, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read tensors: %w", err)
	}
	file, err := Decode(content)
	if err != nil {
		return nil, fmt.Errorf("%s is not a valid safetensors file: %w", path, err)
	}
	return file, nil
}

// Decode reads a file held in memory. The tensors' Data are parts of content,
// not copies. It fails on anything the format forbids: a truncated file, a
// header that is not the expected JSON, repeated names, and tensors that
// overlap, leave holes, lie outside the file or do not fit their shape.
func Decode(content []byte) (*File, error) {
	if len(content) < 8 {
		return nil, fmt.Errorf("truncated: %d bytes, not even the 8 of the header's length", len(content))
	}
	length := binary.LittleEndian.Uint64(content)
	if length > maxHeaderBytes {
		return nil, fmt.Errorf("header length %d is above the %d the format allows", length, maxHeaderBytes)
	}
	if length > uint64(len(content)-8) {
		return nil, fmt.Errorf("truncated: the header takes %d bytes but only %d follow", length, len(content)-8)
	}
	header, data := content[8:8+length], content[8+length:]
	if len(header) == 0 || header[0] != '{' {
		return nil, errors.New("the header does not start with {")
	}
	if !utf8.Valid(header) {
		return nil, errors.New("the header is not UTF-8")
	}
	entries, metadata, err := parseHeader(bytes.TrimRight(header, " "))
	if err != nil {
		return nil, err
	}
	file := &File{Metadata: metadata, byName: make(map[string]int, len(entries))}
	if file.Tensors, err = layOut(entries, data); err != nil {
		return nil, err
	}
	for i, t := range file.Tensors {
		file.byName[t.Name] = i
	}
	return file, nil
}

// layOut cuts data into the tensors of entries, which have to cover it
// exactly, without holes or overlaps.
func layOut(entries []entry, data []byte) ([]Tensor, error) {
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Or(a.begin-b.begin, a.end-b.end) })
	tensors := make([]Tensor, 0, len(entries))
	offset, previous := 0, ""
	for _, e := range entries {
		switch {
		case e.end < e.begin:
			return nil, fmt.Errorf("tensor %q ends at byte %d, before it begins at %d", e.name, e.end, e.begin)
		case e.begin < offset:
			return nil, fmt.Errorf("tensor %q begins at byte %d, inside tensor %q which ends at %d",
				e.name, e.begin, previous, offset)
		case e.begin > offset:
			return nil, fmt.Errorf("bytes %d to %d before tensor %q belong to no tensor", offset, e.begin, e.name)
		case e.end > len(data):
			return nil, fmt.Errorf("truncated: tensor %q ends at byte %d of %d", e.name, e.end, len(data))
		}
		t := Tensor{Name: e.name, DType: e.dtype, Shape: e.shape, Data: data[e.begin:e.end:e.end]}
		if err := t.check(); err != nil {
			return nil, err
		}
		tensors = append(tensors, t)
		offset, previous = e.end, e.name
	}
	if offset != len(data) {
		return nil, fmt.Errorf("the last %d bytes belong to no tensor", len(data)-offset)
	}
	return tensors, nil
}
