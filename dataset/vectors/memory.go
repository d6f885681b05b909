package vectors

import "fmt"

// held is rows that are in memory.
type held struct {
	values []float32
	dim    int
}

func (h held) ReadRows(start, n int, dst []float32) error {
	copy(dst, h.values[start*h.dim:(start+n)*h.dim])
	return nil
}

// FromSlice makes vectors of rows in memory, one after the other, which are not
// copied. Errors call them by name.
func FromSlice(name string, values []float32, dim int) (*Vectors, error) {
	if dim < 1 || len(values) == 0 || len(values)%dim != 0 {
		return nil, fmt.Errorf("%s: %d values are not rows of %d; give at least one whole row", name, len(values), dim)
	}
	return newVectors(name, len(values)/dim, dim, held{values, dim}, nil), nil
}

// View returns the same rows, to be closed on their own.
func (v *Vectors) View() *Vectors {
	v.handle.references.Add(1)
	return &Vectors{path: v.path, rows: v.rows, dim: v.dim, source: v.source, handle: v.handle, note: v.note, dropped: v.dropped}
}
