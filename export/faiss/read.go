package faiss

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/gritvq/gritvq/internal/memory"
)

// Read loads an index file with residual or product codes. It refuses other kinds of index and damaged files.
func Read(path string) (*Index, error) {
	content, err := memory.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read an index: %w", err)
	}
	x, err := Decode(content)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used as a FAISS index: %w", path, err)
	}
	return x, nil
}

// Decode reads an index held in memory; see [Read].
func Decode(content []byte) (x *Index, err error) {
	d := &decoder{rest: content}
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case failure:
			x, err = nil, problem.error
		default:
			panic(problem)
		}
	}()
	x = d.index(&Index{})
	if len(d.rest) > 0 {
		return nil, fmt.Errorf("%d bytes follow its end: the file is damaged", len(d.rest))
	}
	return x, nil
}

// failure is how a decoder leaves its functions.
type failure struct{ error }

// decoder reads little-endian fields.
type decoder struct{ rest []byte }

func (d *decoder) fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		panic(failure{errors.New("it is truncated or damaged; write it again with faiss.write_index")})
	}
	bytes := d.rest[:n]
	d.rest = d.rest[n:]
	return bytes
}

func (d *decoder) text() string   { return string(d.bytes(4)) }
func (d *decoder) flag() bool     { return d.bytes(1)[0] != 0 }
func (d *decoder) short() int32   { return int32(binary.LittleEndian.Uint32(d.bytes(4))) }
func (d *decoder) number() uint64 { return binary.LittleEndian.Uint64(d.bytes(8)) }
func (d *decoder) float() float32 { return math.Float32frombits(uint32(d.short())) }
func (d *decoder) floats() []float32 {
	return elements(d, 4, math.Float32frombits, binary.LittleEndian.Uint32)
}

// elements reads a vector of FAISS.
func elements[T, U any](d *decoder, size uint64, convert func(U) T, read func([]byte) U) []T {
	n := d.number()
	if n > uint64(len(d.rest))/size {
		d.bytes(math.MaxUint64)
	}
	values := make([]T, n)
	for i := range values {
		values[i] = convert(read(d.bytes(size)))
	}
	return values
}

func (d *decoder) numbers() []int64 {
	return elements(d, 8, func(v uint64) int64 { return int64(v) }, binary.LittleEndian.Uint64)
}

// header returns the dimension and the number of vectors of an index.
func (d *decoder) header() (dim, rows int) {
	dim, rows = int(d.short()), int(d.number())
	d.bytes(16)
	trained, metric := d.flag(), d.short()
	switch {
	case !trained:
		d.fail("it is not trained")
	case metric != metricL2:
		d.fail("its metric is number %d: the codes of gritvq are for the Euclidean distance", metric)
	case dim < 1 || dim > 1<<20 || rows < 0:
		d.fail("it has %d dimensions and %d vectors: the file is damaged", dim, rows)
	}
	return dim, rows
}

func (d *decoder) index(x *Index) *Index {
	switch kind := d.text(); kind {
	case "IxMp", "IxM2":
		d.header()
		d.index(x)
		if x.IDs = d.numbers(); len(x.IDs) != x.Len() {
			d.fail("it has %d IDs for %d vectors: the file is damaged", len(x.IDs), x.Len())
		}
	case "IxPT":
		dim, _ := d.header()
		for range d.short() {
			t := d.transform()
			if t.In != dim {
				d.fail("a transform takes %d dimensions where there are %d: the file is damaged", t.In, dim)
			}
			x.Transforms, dim = append(x.Transforms, t), t.Out
		}
		if d.index(x); x.Dim != dim {
			d.fail("its transforms give %d dimensions where the codes have %d: the file is damaged", dim, x.Dim)
		}
	case "IxRq":
		d.residual(x)
	case "IxPq":
		d.product(x)
	default:
		d.fail("it is of kind %q: gritvq reads IndexResidualQuantizer and IndexPQ, also in IndexPreTransform and IndexIDMap", kind)
	}
	return x
}

func (d *decoder) transform() (t Transform) {
	switch kind := d.text(); kind {
	case "VCnt":
		t.Mean = d.floats()
	case "VNrm":
		if t.Unit = true; d.float() != 2 {
			d.fail("it normalises by a norm other than the Euclidean")
		}
	case "Pcam", "rrot", "LTra":
		if kind == "Pcam" {
			d.bytes(4 + 4 + 1 + 4)
			d.floats()
			d.floats()
			d.floats()
		}
		bias := d.flag()
		t.Matrix, t.Bias = d.floats(), d.floats()
		if !bias {
			t.Bias = nil
		}
	default:
		d.fail("it has a transform of kind %q, which gritvq does not read", kind)
	}
	t.In, t.Out = int(d.short()), int(d.short())
	d.flag()
	wrong := t.In < 1 || t.Out < 1 || t.Matrix != nil && len(t.Matrix) != t.In*t.Out || t.Bias != nil && len(t.Bias) != t.Out
	if wrong || t.Matrix == nil && t.In != t.Out || t.Mean != nil && len(t.Mean) != t.In {
		d.fail("a transform does not fit its dimensions: the file is damaged")
	}
	return t
}

func (d *decoder) residual(x *Index) {
	dim, rows := d.header()
	x.Dim = int(d.number())
	positions, widths := d.number(), d.numbers()
	if x.Dim != dim || positions == 0 || uint64(len(widths)) != positions {
		d.fail("its quantizer is for %d dimensions and %d levels: the file is damaged", x.Dim, positions)
	}
	for _, width := range widths {
		if width != widths[0] {
			d.fail("its levels have different numbers of codes, those of gritvq as many each")
		}
	}
	d.flag()
	books := d.floats()
	if search := d.short(); search > 2 { // decoded vectors, tables without norms: no more than codes is stored
		d.fail("it stores norms beside the codes (search_type %d), which gritvq does not read", search)
	}
	d.bytes(4 + 4 + 4)
	x.Beam = int(d.short())
	d.number() // bytes of a vector
	d.fill(x, books, int(positions), widths[0], rows)
}

func (d *decoder) product(x *Index) {
	dim, rows := d.header()
	x.Dim, x.Product = int(d.number()), true
	positions, width := d.number(), d.number()
	if x.Dim != dim || positions == 0 || uint64(x.Dim)%positions != 0 {
		d.fail("its quantizer is for %d dimensions in %d parts: the file is damaged", x.Dim, positions)
	}
	d.fill(x, d.floats(), int(positions), int64(width), rows)
	d.bytes(4 + 1 + 4)
}

// fill takes the codebooks apart, without the codes that only fill them up, and reads the stored vectors.
func (d *decoder) fill(x *Index, books []float32, positions int, width int64, rows int) {
	if width < 1 || width > mostBits || positions > x.Dim*1024 {
		d.fail("codes of %d bits are not read: 1 to %d are", width, mostBits)
	}
	x.Books = make([][]float32, positions)
	k, size := 1<<width, x.Width()
	if len(books) != positions*k*size {
		d.fail("its codebooks have %d numbers, expected %d: the file is damaged", len(books), positions*k*size)
	}
	x.Codes = k
	for x.Codes > 1 && allFar(books, positions, k, size, x.Codes-1) {
		x.Codes--
	}
	for i := range x.Books {
		x.Books[i] = books[i*k*size : (i*k+x.Codes)*size]
	}
	n := d.number()
	if n > uint64(len(d.rest)) || int(n) != rows*((positions*int(width)+7)/8) {
		d.fail("it has %d bytes of codes for %d vectors: it is damaged, or stores norms, which gritvq does not read", n, rows)
	}
	x.Rows = x.unpack(d.bytes(n), int(width))
	for _, code := range x.Rows {
		if int(code) >= x.Codes {
			d.fail("a vector has code %d of %d: the file is damaged", code, x.Codes)
		}
	}
}

// allFar says whether a code fills up all codebooks.
func allFar(books []float32, positions, k, size, code int) bool {
	for i := range positions {
		for _, v := range books[(i*k+code)*size : (i*k+code+1)*size] {
			if v != far {
				return false
			}
		}
	}
	return true
}
