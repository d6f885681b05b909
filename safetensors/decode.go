package safetensors

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/gritvq/gritvq/internal/memory"
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
	content, err := memory.ReadFile(path)
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
	extents, metadata, err := Index(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, err
	}
	file := &File{Metadata: metadata, byName: make(map[string]int, len(extents))}
	for i, e := range extents {
		end := e.Offset + e.Bytes
		file.Tensors = append(file.Tensors, Tensor{Name: e.Name, DType: e.DType, Shape: e.Shape, Data: content[e.Offset:end:end]})
		file.byName[e.Name] = i
	}
	return file, nil
}
