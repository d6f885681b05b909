package faiss

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// Values that FAISS stores with every index.
const (
	reserved      = int64(1 << 20)
	metricL2      = int32(1)
	searchDecoded = int32(0) // distances to decoded vectors
	trainGradual  = int32(1) // of a residual quantizer's training: it does not matter once codes are there
)

// Write stores the index in a file.
func Write(path string, x *Index) error {
	if err := x.check(); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		e := encoder{w: w}
		e.index(x)
		return e.err
	})
}

// encoder writes little-endian fields and keeps the first error.
type encoder struct {
	w   io.Writer
	err error
}

func (e *encoder) put(values ...any) {
	for _, value := range values {
		if text, ok := value.(string); ok {
			value = []byte(text)
		}
		if e.err == nil {
			e.err = binary.Write(e.w, binary.LittleEndian, value)
		}
	}
}

// list writes a vector of FAISS: its length and its elements.
func list[T any](e *encoder, values []T) { e.put(uint64(len(values)), values) }

func (e *encoder) header(kind string, dim, rows int) {
	e.put(kind, int32(dim), int64(rows), reserved, reserved, true, metricL2)
}

func (e *encoder) index(x *Index) {
	if x.IDs != nil {
		e.header("IxMp", x.Input(), x.Len())
	}
	if len(x.Transforms) > 0 {
		e.header("IxPT", x.Input(), x.Len())
		e.put(int32(len(x.Transforms)))
		for _, t := range x.Transforms {
			e.transform(t)
		}
	}
	if x.Product {
		e.product(x)
	} else {
		e.residual(x)
	}
	if x.IDs != nil {
		list(e, x.IDs)
	}
}

func (e *encoder) transform(t Transform) {
	switch {
	case t.Mean != nil:
		e.put("VCnt")
		list(e, t.Mean)
	case t.Unit:
		e.put("VNrm", float32(2))
	default:
		e.put("LTra", t.Bias != nil)
		list(e, t.Matrix)
		list(e, t.Bias)
	}
	e.put(int32(t.In), int32(t.Out), true)
}

// books are all codebooks, one after the other, filled up with far codes.
func (x *Index) books() []float32 {
	var all []float32
	fill := slices.Repeat([]float32{far}, (1<<x.bits()-x.Codes)*x.Width())
	for _, book := range x.Books {
		all = append(append(all, book...), fill...)
	}
	return all
}

func (e *encoder) residual(x *Index) {
	e.header("IxRq", x.Dim, x.Len())
	e.put(uint64(x.Dim), uint64(len(x.Books)))
	list(e, slices.Repeat([]uint64{uint64(x.bits())}, len(x.Books)))
	e.put(true)
	list(e, x.books())
	unset := float32(math.NaN()) // bounds of norms, which this kind of search does not use
	e.put(searchDecoded, unset, unset, trainGradual, int32(max(1, x.Beam)), uint64(x.codeSize()))
	list(e, x.pack())
}

func (e *encoder) product(x *Index) {
	e.header("IxPq", x.Dim, x.Len())
	e.put(uint64(x.Dim), uint64(len(x.Books)), uint64(x.bits()))
	list(e, x.books())
	list(e, x.pack())
	e.put(int32(0), false, int32(len(x.Books)*x.bits()+1)) // plain search
}
