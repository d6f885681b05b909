package vectors

import "github.com/gritvq/gritvq/dataset"

var _ dataset.Set = (*Vectors)(nil)

// Input implements dataset.Set.
func (v *Vectors) Input() int { return v.dim }

// Read implements dataset.Set.
func (v *Vectors) Read(rows []int) (dataset.Batch, []int, error) {
	values := make([]float32, len(rows)*v.dim)
	return dataset.VectorBatch(values, len(rows)), rows, v.Gather(rows, values)
}

// Draw implements dataset.Set.
func (v *Vectors) Draw(rows []int, _ uint64, _ int64) (dataset.Batch, error) {
	items, _, err := v.Read(rows)
	return items, err
}
