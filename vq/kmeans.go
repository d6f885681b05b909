package vq

import (
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"
)

// KMeans is plain k-means: codes are cluster centres of the vectors and, in later
// levels, of the residuals.
var KMeans = Method{
	Name: "kmeans", Title: "k-means",
	Summary:   "cluster centres of the vectors, fitted without training steps",
	Defaults:  classicalDefaults,
	Check:     checkClassical,
	Classical: fitLevels,
}

// fitLevels clusters level by level, each what the nearest codes of the levels before leave.
func fitLevels(f *Fitting, c Config, sample Latents, rng *rand.Rand) (weights.Set, error) {
	set, rest := weights.Set{}, sample.clone()
	for l := range c.Levels {
		var start []float32
		if l == 0 && len(f.first) > 0 {
			start = f.first[0]
		}
		centers, err := f.kmeans(rest, c.Codes, start, rng.Uint64())
		if err != nil {
			return nil, err
		}
		codes := &weights.Array{Shape: []int{c.Codes, sample.Dim}, Data: centers}
		set[levelPath(l)+"/"+CodesPath] = codes
		if err := rest.subtractNearest(codes); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// PQ is product quantization (Jégou, Douze and Schmid 2011): each part of the
// vector is coded by cluster centres of its own.
var PQ = Method{
	Name: "pq", Title: "PQ",
	Summary:   "product quantization: cluster centres of slices of the vector",
	Defaults:  productDefaults,
	Check:     checkClassical,
	Classical: fitLevels,
	Product:   true,
}

func productDefaults(c *Config, r *Rates) {
	classicalDefaults(c, r)
	c.Parts, c.Levels = c.Levels, 1
}
