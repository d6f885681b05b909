package vq

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// components are a sample's mean [d] and its principal directions, with the
// standard deviation along each, largest first.
type components struct {
	mean, deviation []float64
	directions      [][]float64
}

// principal decomposes the covariance of a sample.
func principal(s Latents) (components, error) {
	if s.N < 1 {
		return components{}, fmt.Errorf("no latents to start from")
	}
	d := s.Dim
	c := components{mean: make([]float64, d), deviation: make([]float64, d)}
	for i, x := range s.Rows {
		c.mean[i%d] += float64(x) / float64(s.N)
	}
	centered := mat.NewDense(s.N, d, nil)
	for i, x := range s.Rows {
		centered.RawMatrix().Data[i] = float64(x) - c.mean[i%d]
	}
	covariance := mat.NewSymDense(d, nil)
	covariance.SymOuterK(1/float64(s.N), centered.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return components{}, fmt.Errorf("the latents to start from are not finite")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil) // ascending
	for i := range d {
		c.deviation[i] = math.Sqrt(max(0, values[d-1-i]))
		c.directions = append(c.directions, mat.Col(nil, d-1-i, &vectors))
	}
	return c, nil
}

// unit returns a direction along which the sample has unit deviation and the
// offset of its coordinate: component i, or, past the last one, a random mixture
// of all of them cut at a random place.
func (c components) unit(i int, rng *rand.Rand) (direction []float64, offset float64) {
	least := max(1e-4*c.deviation[0], math.SmallestNonzeroFloat32)
	direction = make([]float64, len(c.mean))
	if i < len(c.mean) {
		for j, x := range c.directions[i] {
			direction[j] = x / max(c.deviation[i], least)
		}
		return direction, 0
	}
	share := 1 / math.Sqrt(float64(len(c.mean)))
	for k, component := range c.directions {
		weight := share * rng.NormFloat64() / max(c.deviation[k], least)
		for j, x := range component {
			direction[j] += weight * x
		}
	}
	return direction, 0.5 * rng.NormFloat64()
}
