package vq

import (
	"math"

	"github.com/gritvq/gritvq/index"
)

// Bounds of clustering in growing dimensions.
const (
	progressiveSteps = 10   // of the number of dimensions, in equal ratios, as in FAISS
	progressiveRows  = 8192 // show the principal directions well enough
	mostProgressive  = 4096 // codes; more take long
)

// cluster returns k centres of rows. Unless sweeps follow, which find other minima, centres of the widest principal
// directions are the start for those of more directions, to the last: k-means alone stays in poorer minima (progressive
// dimension, as in FAISS's ResidualQuantizer).
func (j *jointFit) cluster(rows Latents, k int, seed uint64) ([]float32, error) {
	d := rows.Dim
	if j.plan.sweeps > 0 || k > mostProgressive || d == 1 {
		centers, _, err := index.KMeans(j.ctx, rows.Rows, rows.N, d, k, kmeansOptions(k, min(j.plan.updates, j.iterations), nil, seed))
		return centers, err
	}
	axes, err := principal(rows.first(progressiveRows).With(j.ctx))
	if err != nil {
		return nil, err
	}
	forth, back := make([]float32, d*d), make([]float32, d*d) // rows and columns are directions
	for i, direction := range axes.directions {
		for at, v := range direction {
			forth[i*d+at], back[at*d+i] = float32(v), float32(v)
		}
	}
	turned := make([]float32, len(rows.Rows))
	index.Products(rows.Rows, rows.N, forth, d, d, turned)
	var centers []float32
	for step, was := 1, 0; step <= progressiveSteps; step++ {
		width := int(math.Pow(float64(d), float64(step)/progressiveSteps) + 1e-9)
		if width == was {
			continue
		}
		var start []float32
		if centers != nil {
			start = resized(centers, was, width)
		}
		o := kmeansOptions(k, min(j.plan.updates, j.iterations), start, seed)
		if centers, _, err = index.KMeans(j.ctx, resized(turned, d, width), rows.N, width, k, o); err != nil {
			return nil, err
		}
		was = width
	}
	out := make([]float32, k*d)
	index.Products(centers, k, back, d, d, out)
	return out, nil
}

// resized returns rows of another width: cut, or with zeros.
func resized(rows []float32, from, to int) []float32 {
	if from == to {
		return rows
	}
	out := make([]float32, len(rows)/from*to)
	for i := range len(rows) / from {
		copy(out[i*to:(i+1)*to], rows[i*from:min((i+1)*from, i*from+to)])
	}
	return out
}
