package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

const (
	// maxHeaderBytes is the largest header readers of the format accept.
	maxHeaderBytes = 100_000_000
	metadataKey    = "__metadata__"
)

// Write stores tensors and metadata (may be nil) at path, atomically: after
// an error the file that was there before is untouched. See Encode.
func Write(path string, tensors []Tensor, metadata map[string]string) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		if err := Encode(w, tensors, metadata); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		return nil
	})
}

// Encode writes tensors and metadata (may be nil) to w. The bytes depend only
// on the contents: wider elements come first, so that each tensor is aligned
// to its element size as memory-mapping readers need, and equal widths are
// sorted by name. It fails, before writing, on an empty, repeated or reserved
// name, on text that is not UTF-8, and on data that does not fit its shape.
func Encode(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	ordered := slices.Clone(tensors)
	slices.SortFunc(ordered, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(b.DType.Size(), a.DType.Size()), cmp.Compare(a.Name, b.Name))
	})
	if err := checkNames(ordered, metadata); err != nil {
		return err
	}
	header, err := encodeHeader(ordered, metadata)
	if err != nil {
		return err
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))); err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, t := range ordered {
		if _, err := w.Write(t.Data); err != nil {
			return err
		}
	}
	return nil
}

func checkNames(tensors []Tensor, metadata map[string]string) error {
	seen := make(map[string]bool, len(tensors))
	for _, t := range tensors {
		switch {
		case t.Name == "":
			return fmt.Errorf("a tensor of shape %v has no name", t.Shape)
		case t.Name == metadataKey:
			return fmt.Errorf("tensor name %q is reserved by the format: choose another", t.Name)
		case !utf8.ValidString(t.Name):
			return fmt.Errorf("tensor name %q is not UTF-8", t.Name)
		case seen[t.Name]:
			return fmt.Errorf("two tensors are named %q", t.Name)
		}
		seen[t.Name] = true
		if err := t.check(); err != nil {
			return err
		}
	}
	for key, value := range metadata {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return fmt.Errorf("metadata %q is not UTF-8", key)
		}
	}
	return nil
}

// encodeHeader gives the JSON of tensors laid out in this order, padded with
// spaces so that the data after it starts at a multiple of 8 bytes.
func encodeHeader(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	if len(metadata) > 0 {
		writeString(&out, metadataKey)
		out.WriteString(":{")
		for i, key := range slices.Sorted(maps.Keys(metadata)) {
			if i > 0 {
				out.WriteByte(',')
			}
			writeString(&out, key)
			out.WriteByte(':')
			writeString(&out, metadata[key])
		}
		out.WriteByte('}')
	}
	offset := 0
	for i, t := range tensors {
		if i > 0 || len(metadata) > 0 {
			out.WriteByte(',')
		}
		writeString(&out, t.Name)
		out.WriteString(`:{"dtype":"` + string(t.DType) + `","shape":[`)
		for axis, dim := range t.Shape {
			if axis > 0 {
				out.WriteByte(',')
			}
			out.WriteString(strconv.Itoa(dim))
		}
		end := offset + len(t.Data)
		fmt.Fprintf(&out, `],"data_offsets":[%d,%d]}`, offset, end)
		offset = end
	}
	out.WriteByte('}')
	for out.Len()%8 != 0 {
		out.WriteByte(' ')
	}
	if out.Len() > maxHeaderBytes {
		return nil, fmt.Errorf("header takes %d bytes, more than the %d the format allows: store fewer tensors or less metadata",
			out.Len(), maxHeaderBytes)
	}
	return out.Bytes(), nil
}

// writeString appends s as a JSON string, without the HTML escapes that
// json.Marshal adds.
func writeString(out *bytes.Buffer, s string) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string in memory cannot fail
	out.Truncate(out.Len() - 1)
}
