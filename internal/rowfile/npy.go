package rowfile

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

const (
	npyMagic = "\x93NUMPY"
	// maxNPYHeader bounds the header; plain arrays need about 100 bytes.
	maxNPYHeader = 1 << 20
)

// NPYHeader is the description at the head of a .npy file.
type NPYHeader struct {
	Descr   string // "<f4"; "" for a record type
	Fortran bool
	Shape   []int
	Offset  int64 // of the data
}

// ReadNPYHeader parses versions 1 to 3 of the format from the start of r.
// path is the file's name in errors.
func ReadNPYHeader(path string, r io.Reader) (NPYHeader, error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:10]); err != nil {
		return NPYHeader{}, npyHeadError(path, err)
	}
	if string(head[:6]) != npyMagic {
		return NPYHeader{}, fmt.Errorf("%s is no NumPy array: it starts with %q instead of %q; write it with numpy.save",
			path, head[:6], npyMagic)
	}
	h := NPYHeader{Offset: 10}
	length := int64(binary.LittleEndian.Uint16(head[8:]))
	switch head[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, head[10:]); err != nil {
			return NPYHeader{}, npyHeadError(path, err)
		}
		h.Offset = 12
		length = int64(binary.LittleEndian.Uint32(head[8:]))
	default:
		return NPYHeader{}, fmt.Errorf("%s has .npy format version %d, known are 1, 2 and 3; write it again with a current numpy.save",
			path, head[6])
	}
	if length > maxNPYHeader {
		return NPYHeader{}, fmt.Errorf("the header of %s claims %d bytes, more than the %d any plain array needs; the file is damaged, write "+
			"it again", path, length, maxNPYHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return NPYHeader{}, npyHeadError(path, err)
	}
	h.Offset += length
	if err := h.fill(string(text)); err != nil {
		return NPYHeader{}, fmt.Errorf("the header of %s is malformed (%w); write it again with numpy.save", path, err)
	}
	return h, nil
}

func npyHeadError(path string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s is truncated: it ends inside its .npy header; copy or write it again", path)
	}
	return fmt.Errorf("reading %s: %w", path, err)
}

// Python spells the header's dictionary otherwise than JSON: quotes, tuples,
// constants, a comma after the last element, and long integers in Python 2.
var (
	pythonWords   = strings.NewReplacer("'", `"`, "(", "[", ")", "]", "True", "true", "False", "false", "None", "null")
	pythonExtras  = regexp.MustCompile(`,\s*([\]}])`)
	pythonLongInt = regexp.MustCompile(`(\d)L\b`)
)

// fill takes the three keys from the header's Python dictionary.
func (h *NPYHeader) fill(text string) error {
	text = pythonExtras.ReplaceAllString(pythonWords.Replace(text), "$1")
	text = pythonLongInt.ReplaceAllString(text, "$1")
	var dict struct {
		Descr   any     `json:"descr"`
		Fortran *bool   `json:"fortran_order"`
		Shape   []int64 `json:"shape"`
	}
	if json.Unmarshal([]byte(text), &dict) != nil {
		return errors.New("not a dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}")
	}
	switch descr := dict.Descr.(type) {
	case string:
		h.Descr = descr
		if descr == "" {
			return errors.New("'descr' is empty")
		}
	case []any: // a record type; reported as an unsupported type later
	default:
		return errors.New("no 'descr'")
	}
	switch {
	case dict.Fortran == nil:
		return errors.New("no 'fortran_order'")
	case dict.Shape == nil:
		return errors.New("no 'shape'")
	}
	h.Fortran = *dict.Fortran
	for _, n := range dict.Shape {
		if n < 0 || n > math.MaxInt {
			return fmt.Errorf("impossible 'shape' %v", dict.Shape)
		}
		h.Shape = append(h.Shape, int(n))
	}
	return nil
}

// ShapeText writes the shape as Python would.
func (h *NPYHeader) ShapeText() string {
	parts := make([]string, len(h.Shape))
	for i, n := range h.Shape {
		parts[i] = fmt.Sprint(n)
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// TypeText names the stored type.
func (h *NPYHeader) TypeText() string {
	if h.Descr == "" {
		return "record"
	}
	return h.Descr
}

// CheckLength says whether size bytes of file hold the whole array whose
// elements take itemSize bytes.
func (h *NPYHeader) CheckLength(path string, itemSize int, size int64) error {
	need := uint64(itemSize)
	for _, n := range h.Shape {
		high, low := bits.Mul64(need, uint64(n))
		if high != 0 || low > math.MaxInt64/2 {
			return fmt.Errorf("the header of %s claims the impossible shape %s; the file is damaged, write it again", path, h.ShapeText())
		}
		need = low
	}
	if need += uint64(h.Offset); uint64(size) < need {
		return fmt.Errorf("%s is truncated: shape %s of type %s needs %d bytes, found %d; copy or write it again",
			path, h.ShapeText(), h.Descr, need, size)
	}
	return nil
}

// npyHead returns the bytes before the data of a C-ordered [rows, cols] array,
// padded so that the data starts at a multiple of 64.
func npyHead(descr string, shape ...int) []byte {
	sizes := make([]string, len(shape))
	for i, n := range shape {
		sizes[i] = strconv.Itoa(n)
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, strings.Join(sizes, ", "))
	const fixed = 10
	padding := 64 - (fixed+len(dict)+1)%64
	if padding == 64 {
		padding = 0
	}
	head := append([]byte(npyMagic), 1, 0, 0, 0)
	binary.LittleEndian.PutUint16(head[8:], uint16(len(dict)+padding+1))
	head = append(head, dict...)
	head = append(head, strings.Repeat(" ", padding)...)
	return append(head, '\n')
}
