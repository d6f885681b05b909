package vq

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/weights"
)

// OPQ is optimized product quantization (Ge, He, Ke and Sun 2013): [PQ] in a
// rotation learned in turns with the codes, from the principal directions dealt
// out so that the parts have equal products of variances.
var OPQ = Method{
	Name: "opq", Title: "OPQ",
	Summary:   "product quantization in a learned rotation of the vectors",
	Defaults:  productDefaults,
	Check:     checkClassical,
	Classical: fitLevels,
	Product:   true,
	Rotated:   true,
}

const (
	rotationRows    = 32768 // rows of the sample used to learn the rotation
	rotationUpdates = 2     // of the centres between two updates of the rotation
)

// learnRotation alternates between the codes Ŷ of X·R and the rotation closest
// to carrying X to them, min |X R - Ŷ|, whose solution is the orthogonal factor
// of XᵀŶ. It returns R [d,d] and the last codes of every part.
func (f *Fitting) learnRotation(c Config, sample Latents, rng *rand.Rand) (*weights.Array, [][]float32, error) {
	sample = sample.first(rotationRows) // it is in random order already
	layout := Layout{Dim: sample.Dim, Parts: c.Parts}
	frame, err := parallel.Until(f.ctx, func() (*mat.Dense, error) { return sample.balancedFrame(layout) })
	if err != nil {
		return nil, nil, err
	}
	seeds, codes := make([]uint64, c.Parts), make([][]float32, c.Parts)
	for part := range seeds {
		seeds[part] = rng.Uint64()
	}
	for range f.iterations {
		rotated := sample.rotate(toArray(frame))
		pull := mat.NewDense(sample.Dim, sample.Dim, nil) // XᵀŶ
		total := 0.0
		for part := range c.Parts {
			start, end := layout.Bounds(part)
			own := pull.Slice(0, sample.Dim, start, end).(*mat.Dense)
			left, err := f.pullOf(sample, rotated.Slice(start, end), c.Codes, &codes[part], seeds[part], own)
			if err != nil {
				return nil, nil, fmt.Errorf("part %d: %w", part, err)
			}
			total += left
		}
		if frame, err = parallel.Until(f.ctx, func() (*mat.Dense, error) { return orthogonalFactor(pull) }); err != nil {
			return nil, nil, err
		}
		f.done++
		if f.watch != nil {
			f.watch(f.done, f.total, total/(float64(sample.N)*float64(sample.Dim)))
		}
	}
	return toArray(frame), codes, nil
}

// pullOf updates the codes of one part, writes XᵀŶ [d,d'] to pull, from the sums of
// the vectors of each code, and returns the part's squared error.
func (f *Fitting) pullOf(sample, slice Latents, k int, codes *[]float32, seed uint64, pull *mat.Dense) (float64, error) {
	o := kmeansOptions(k, rotationUpdates, *codes, seed)
	o.Tolerance = -1
	centers, _, err := index.KMeans(f.ctx, slice.Rows, slice.N, slice.Dim, k, o)
	if err != nil {
		return 0, err
	}
	*codes = centers
	book, err := index.NewCodes(centers, k, slice.Dim)
	if err != nil {
		return 0, err
	}
	chosen, gaps := make([]uint32, slice.N), make([]float32, slice.N)
	book.Nearest(slice.Rows, slice.N, chosen, gaps, 0)
	left := 0.0
	sums, targets := mat.NewDense(k, sample.Dim, nil), mat.NewDense(k, slice.Dim, nil)
	for i, code := range chosen {
		left += float64(gaps[i])
		sum := sums.RawRowView(int(code))
		for j, x := range sample.Row(i) {
			sum[j] += float64(x)
		}
	}
	for i, x := range centers {
		targets.Set(i/slice.Dim, i%slice.Dim, float64(x))
	}
	pull.Mul(sums.T(), targets)
	return left, nil
}

func toArray(m *mat.Dense) *weights.Array {
	rows, columns := m.Dims()
	a := weights.New(rows, columns)
	for i := range rows {
		for j, x := range m.RawRowView(i) {
			a.Data[i*columns+j] = float32(x)
		}
	}
	return a
}
