package vectors

import (
	"context"
	"fmt"
)

// DropNonFinite returns a view of v without the rows that hold NaN or Inf, and
// how many it leaves out. The view renumbers the remaining rows from 0; it
// shares the file with v, and both must be closed. It is an error when no row
// remains, when reading fails, or when ctx ends.
func (v *Vectors) DropNonFinite(ctx context.Context) (*Vectors, int, error) {
	var bad []int
	err := overBlocks(ctx, v, v.allBlocks(),
		func(start int, values []float32) []int {
			var rows []int
			for i := range len(values) / v.dim {
				if sum := sumOfSquares(values[i*v.dim : (i+1)*v.dim]); sum-sum != 0 {
					rows = append(rows, v.sourceRow(start+i))
				}
			}
			return rows
		},
		func(_ int, rows []int) { bad = append(bad, rows...) })
	if err != nil {
		return nil, 0, err
	}
	if len(bad) == v.rows {
		return nil, 0, fmt.Errorf("every row of %s holds NaN or Inf; check how the file was made", v.path)
	}
	v.handle.references.Add(1)
	view := &Vectors{path: v.path, rows: v.rows - len(bad), dim: v.dim, source: v.source, handle: v.handle}
	view.dropped = mergeAscending(v.dropped, bad)
	return view, len(bad), nil
}

// mergeAscending returns the union of two ascending lists without common
// entries.
func mergeAscending(a, b []int) []int {
	merged := make([]int, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	return append(append(merged, a...), b...)
}
