package vectors

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// openNPY returns the vectors of the .npy data in file, size bytes long, and
// takes over closer. path may name an .npz member.
func openNPY(ctx context.Context, path string, file io.ReaderAt, size int64, closer io.Closer, opt Options) (*Vectors, error) {
	header, err := readNPYHeader(path, io.NewSectionReader(file, 0, size))
	if err != nil {
		return nil, err
	}
	if err := header.checkVectors(path); err != nil {
		return nil, err
	}
	element, _ := floatElement(header.descr)
	if err := header.checkLength(path, element.size, size); err != nil {
		return nil, err
	}
	t := &table[float32]{path: path, reader: file, offset: header.offset, rows: header.shape[0], cols: header.shape[1], element: element}
	if header.fortran && t.rows > 1 && t.cols > 1 {
		copied, err := transposed(ctx, t, opt)
		if err != nil {
			return nil, err
		}
		closer.Close()
		t.reader, t.offset, t.element, closer = copied, 0, spooled[float32](), copied
	}
	return newVectors(path, t.rows, t.cols, t, closer), nil
}

// checkVectors says whether the array can be vectors: 2-d, floating, not empty.
func (h *npyHeader) checkVectors(path string) error {
	if err := h.checkType(path); err != nil {
		return err
	}
	switch len(h.shape) {
	case 2:
	case 0:
		return fmt.Errorf("%s holds a single number, expected a 2-d array (rows, dim); check which array was saved", path)
	case 1:
		return fmt.Errorf("%s holds a 1-d array of shape %s, expected 2-d (rows, dim); save a.reshape(-1, d) with d the length of a vector", path, h.shapeText())
	default:
		return fmt.Errorf("%s holds a %d-d array of shape %s, expected 2-d (rows, dim); save a.reshape(-1, a.shape[-1]), or a.reshape(len(a), -1) for one vector per item", path, len(h.shape), h.shapeText())
	}
	switch {
	case h.shape[0] == 0:
		return fmt.Errorf("%s has no rows (shape %s); check what was saved", path, h.shapeText())
	case h.shape[1] == 0:
		return fmt.Errorf("%s has no columns (shape %s); check what was saved", path, h.shapeText())
	case h.shape[1] > maxDim:
		return fmt.Errorf("%s has %d columns, at most %d are supported; rows are vectors, so the array may need a transpose", path, h.shape[1], maxDim)
	}
	return nil
}

// checkType says whether the elements are floating-point numbers.
func (h *npyHeader) checkType(path string) error {
	if _, ok := floatElement(h.descr); ok {
		return nil
	}
	if h.descr == "" {
		return fmt.Errorf("%s holds records (a structured dtype), expected float16, float32 or float64; save one field of it with astype('float32')", path)
	}
	kind := strings.TrimLeft(h.descr, "<>|=")
	switch {
	case strings.HasPrefix(kind, "O"):
		return fmt.Errorf("%s holds Python objects, and pickles are never read; save numpy.stack(list(a)).astype('float32') instead", path)
	case strings.HasPrefix(kind, "c"):
		return fmt.Errorf("%s holds complex numbers (%s), expected float16, float32 or float64; save the real and imaginary parts as columns", path, h.descr)
	case kind == "f2" || kind == "f4" || kind == "f8": // a size that needs an order mark has none
		return fmt.Errorf("%s states the type %q without its byte order, expected < or > before %s; write it again with numpy.save", path, h.descr, kind)
	}
	return fmt.Errorf("%s holds %s (%s), expected float16, float32 or float64; save it with astype('float32')", path, kindName(kind), h.descr)
}

func kindName(kind string) string {
	names := map[string]string{"i": "integers", "u": "unsigned integers", "b": "booleans", "f": "floats of an unsupported size",
		"U": "strings", "S": "byte strings", "V": "raw bytes (bfloat16 is saved so)", "M": "dates", "m": "durations"}
	if name, ok := names[kind[:min(1, len(kind))]]; ok {
		return name
	}
	return "an unknown type"
}

// transposeBytes bounds the block that is transposed in memory.
const transposeBytes = 32 << 20

// transposed copies a Fortran-ordered matrix into a row-major spool: read in
// place, every row would cost one read per column.
func transposed(ctx context.Context, t *table[float32], opt Options) (*spool, error) {
	out, err := newSpool(opt.SpoolDir, t.path)
	if err != nil {
		return nil, err
	}
	perBlock := min(t.rows, max(1, transposeBytes/(4*t.cols)))
	block := make([]float32, perBlock*t.cols)
	column := make([]float32, perBlock)
	// One column of the file is one row of its transpose.
	flat := &table[float32]{path: t.path, reader: t.reader, rows: t.cols, cols: t.rows, element: t.element}
	for start := 0; start < t.rows; start += perBlock {
		n := min(perBlock, t.rows-start)
		for j := range t.cols {
			if err = ctx.Err(); err != nil {
				break
			}
			flat.offset = t.offset + int64(start)*int64(t.element.size)
			if err = flat.readRows(j, 1, column[:n]); err != nil {
				break
			}
			for i, x := range column[:n] {
				block[i*t.cols+j] = x
			}
		}
		if err == nil {
			_, err = out.Write(bytesOf(block[:n*t.cols]))
		}
		if err != nil {
			out.Close()
			return nil, err
		}
		if opt.Progress != nil {
			opt.Progress(start+n, t.rows)
		}
	}
	if err := out.finish(); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}
