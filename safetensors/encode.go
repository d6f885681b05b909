package safetensors

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

const (
	// maxHeaderBytes is the largest header readers of the format accept.
	maxHeaderBytes = 100_000_000
	metadataKey    = "__metadata__"
)

// Write stores tensors and metadata (may be nil) at path, atomically. See [Encode].
func Write(path string, tensors []Tensor, metadata map[string]string) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		if err := Encode(w, tensors, metadata); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		return nil
	})
}

// Encode writes tensors and metadata (may be nil) to w. Wider elements come first,
// so that each tensor is aligned to its element size as memory-mapping readers
// need; equal widths are sorted by name. It fails, before writing, on an empty,
// repeated or reserved name, on text that is not UTF-8, and on data that does not
// fit its shape.
func Encode(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	parts, err := layout(tensors, metadata)
	if err != nil {
		return err
	}
	return write(w, parts)
}

// layout returns the parts of a file: the length of the header, the header, and the data of the tensors.
func layout(tensors []Tensor, metadata map[string]string) (parts [][]byte, err error) {
	ordered := slices.Clone(tensors)
	slices.SortFunc(ordered, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(b.DType.Size(), a.DType.Size()), cmp.Compare(a.Name, b.Name))
	})
	if err := checkNames(ordered, metadata); err != nil {
		return nil, err
	}
	header, err := encodeHeader(ordered, metadata)
	if err != nil {
		return nil, err
	}
	parts = [][]byte{binary.LittleEndian.AppendUint64(nil, uint64(len(header))), []byte(header)}
	for _, t := range ordered {
		parts = append(parts, t.Data)
	}
	return parts, nil
}

func write(w io.Writer, parts [][]byte) error {
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
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
func encodeHeader(tensors []Tensor, metadata map[string]string) (string, error) {
	var entries []string
	if len(metadata) > 0 {
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(metadata)) {
			pairs = append(pairs, quote(key)+":"+quote(metadata[key]))
		}
		entries = append(entries, quote(metadataKey)+":{"+strings.Join(pairs, ",")+"}")
	}
	offset := 0
	for _, t := range tensors {
		end := offset + len(t.Data)
		shape := strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ",")
		entries = append(entries, fmt.Sprintf(`%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`, quote(t.Name), t.DType, shape, offset, end))
		offset = end
	}
	header := "{" + strings.Join(entries, ",") + "}"
	header += strings.Repeat(" ", -len(header)&7)
	if len(header) > maxHeaderBytes {
		return "", fmt.Errorf("header takes %d bytes, more than the %d the format allows: store fewer tensors or less metadata",
			len(header), maxHeaderBytes)
	}
	return header, nil
}

// quote gives s as a JSON string, without the HTML escapes of json.Marshal.
func quote(s string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // cannot fail
	return strings.TrimSuffix(out.String(), "\n")
}
