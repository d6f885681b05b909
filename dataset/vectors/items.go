package vectors

import (
	"fmt"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/memory"
)

var _ dataset.Set = (*Vectors)(nil)

// Input implements dataset.Set.
func (v *Vectors) Input() int { return v.dim }

// Read implements dataset.Set.
func (v *Vectors) Read(rows []int) (dataset.Batch, []int, error) {
	if err := memory.Check(fmt.Sprintf("a batch of %d vectors of %d numbers", len(rows), v.dim), len(rows), v.dim, 4); err != nil {
		return dataset.Batch{}, nil, err
	}
	values := make([]float32, len(rows)*v.dim)
	return dataset.VectorBatch(values, len(rows)), rows, v.Gather(rows, values)
}

// Draw implements dataset.Set.
func (v *Vectors) Draw(rows []int, _ uint64, _ int64) (dataset.Batch, error) {
	items, _, err := v.Read(rows)
	return items, err
}
