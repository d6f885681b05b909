package vectors

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/rowfile"
)

var npyFormat = format{
	Format: rowfile.NPY,
	open: func(ctx context.Context, f source, opt Options) (*Vectors, error) {
		return openNPY(ctx, f.path, f, f.size, f, opt)
	},
	create: func(f *atomicfile.File, dim, rows int) (rowfile.Encoder[float32], error) {
		return rowfile.NewNPYEncoder[float32](f, "<f4", rows, dim)
	},
}

// openNPY returns the vectors of the .npy data in file, size bytes long, and
// takes over closer. path may name an .npz member.
func openNPY(ctx context.Context, path string, file io.ReaderAt, size int64, closer io.Closer, opt Options) (*Vectors, error) {
	header, err := rowfile.ReadNPYHeader(path, io.NewSectionReader(file, 0, size))
	if err != nil {
		return nil, err
	}
	if err := checkVectors(path, header); err != nil {
		return nil, err
	}
	element, _ := floatElement(header.Descr)
	if err := header.CheckLength(path, element.Size, size); err != nil {
		return nil, err
	}
	t := &rowfile.Table[float32]{
		Path: path, Reader: file, Offset: header.Offset, Rows: header.Shape[0], Cols: header.Shape[1], Element: element,
	}
	if header.Fortran && t.Rows > 1 && t.Cols > 1 {
		copied, err := transposed(ctx, t, opt)
		if err != nil {
			return nil, err
		}
		closer.Close()
		t, closer = rowfile.SpooledTable[float32](path, copied, t.Rows, t.Cols), copied
	}
	return newVectors(path, t.Rows, t.Cols, t, closer), nil
}

// checkVectors says whether the array can be vectors: 2-d, floating, not empty.
func checkVectors(path string, h rowfile.NPYHeader) error {
	if err := checkType(path, h); err != nil {
		return err
	}
	switch len(h.Shape) {
	case 2:
	case 0:
		return fmt.Errorf("%s holds a single number, expected a 2-d array (rows, dim); check which array was saved", path)
	case 1:
		return fmt.Errorf("%s holds a 1-d array of shape %s, expected 2-d (rows, dim); save a.reshape(-1, d) with d the length of a vector",
			path, h.ShapeText())
	default:
		return fmt.Errorf("%s holds a %d-d array of shape %s, expected 2-d (rows, dim); save a.reshape(-1, a.shape[-1]), or a.reshape(len(a), "+
			"-1) for one vector per item", path, len(h.Shape), h.ShapeText())
	}
	switch {
	case h.Shape[0] == 0:
		return fmt.Errorf("%s has no rows (shape %s); check what was saved", path, h.ShapeText())
	case h.Shape[1] == 0:
		return fmt.Errorf("%s has no columns (shape %s); check what was saved", path, h.ShapeText())
	case h.Shape[1] > maxDim:
		return fmt.Errorf("%s has %d columns, at most %d are supported; rows are vectors, so the array may need a transpose",
			path, h.Shape[1], maxDim)
	}
	return nil
}

// checkType says whether the elements are floating-point numbers.
func checkType(path string, h rowfile.NPYHeader) error {
	if _, ok := floatElement(h.Descr); ok {
		return nil
	}
	if h.Descr == "" {
		return fmt.Errorf("%s holds records (a structured dtype), expected float16, float32 or float64; save one field of it with "+
			"astype('float32')", path)
	}
	kind := strings.TrimLeft(h.Descr, "<>|=")
	switch {
	case strings.HasPrefix(kind, "O"):
		return fmt.Errorf("%s holds Python objects, and pickles are never read; save numpy.stack(list(a)).astype('float32') instead", path)
	case strings.HasPrefix(kind, "c"):
		return fmt.Errorf("%s holds complex numbers (%s), expected float16, float32 or float64; save the real and imaginary parts as columns",
			path, h.Descr)
	case kind == "f2" || kind == "f4" || kind == "f8": // a size that needs an order mark has none
		return fmt.Errorf("%s states the type %q without its byte order, expected < or > before %s; write it again with numpy.save",
			path, h.Descr, kind)
	}
	return fmt.Errorf("%s holds %s (%s), expected float16, float32 or float64; save it with astype('float32')", path, kindName(kind), h.Descr)
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
func transposed(ctx context.Context, t *rowfile.Table[float32], opt Options) (*rowfile.Spool, error) {
	out, err := rowfile.NewSpool(opt.SpoolDir, t.Path)
	if err != nil {
		return nil, err
	}
	if err := out.Reserve(4 * uint64(t.Rows) * uint64(t.Cols)); err != nil {
		out.Close()
		return nil, err
	}
	perBlock := min(t.Rows, max(1, transposeBytes/(4*t.Cols)))
	block := make([]float32, perBlock*t.Cols)
	column := make([]float32, perBlock)
	// One column of the file is one row of its transpose.
	flat := &rowfile.Table[float32]{Path: t.Path, Reader: t.Reader, Rows: t.Cols, Cols: t.Rows, Element: t.Element}
	for start := 0; start < t.Rows; start += perBlock {
		n := min(perBlock, t.Rows-start)
		for j := range t.Cols {
			if err = ctx.Err(); err != nil {
				break
			}
			flat.Offset = t.Offset + int64(start)*int64(t.Element.Size)
			if err = flat.ReadRows(j, 1, column[:n]); err != nil {
				break
			}
			for i, x := range column[:n] {
				block[i*t.Cols+j] = x
			}
		}
		if err == nil {
			_, err = out.Write(rowfile.BytesOf(block[:n*t.Cols]))
		}
		if err != nil {
			out.Close()
			return nil, err
		}
		if opt.Progress != nil {
			opt.Progress(start+n, t.Rows)
		}
	}
	if err := out.Finish(); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}
