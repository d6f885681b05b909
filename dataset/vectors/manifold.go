package vectors

import (
	"math"
	"sort"
)

// Shape of synthetic:manifold. The values make it hard in the ways learned
// embeddings are: most rows in few clusters, a long tail of rare ones, local
// structure of far fewer dimensions than the space, and scales that differ.
const (
	manifoldPatches  = 96
	manifoldLatents  = 8  // intrinsic dimension of a patch
	manifoldFactors  = 12 // directions of the spread of patch centres
	manifoldFeatures = 3 * manifoldLatents
	manifoldNoise    = 0.02
)

// manifold generates rows x = bend(s(u) * W_k phi(u) + c_k) + noise, with patch
// k from a Zipf law, latents u standard normal, phi(u) the latents, their
// squares and products of neighbours, and c_k in a shared low-dimensional
// subspace, which correlates the dimensions.
type manifold struct {
	dim        int
	seed       uint64
	cumulative []float64 // patch frequencies, summed up to 1
	centres    []float64 // [patches*dim]
	maps       []float64 // W: [patches*features*dim]
}

func newManifold(dim int, seed uint64) *manifold {
	m := &manifold{
		dim: dim, seed: seed,
		centres: make([]float64, manifoldPatches*dim),
		maps:    make([]float64, manifoldPatches*manifoldFeatures*dim),
	}
	stream := tableStream(seed)
	sum := 0.0
	for k := range manifoldPatches {
		sum += 1 / float64(k+1)
		m.cumulative = append(m.cumulative, sum)
	}
	for k := range m.cumulative {
		m.cumulative[k] /= sum
	}
	factors := make([]float64, manifoldFactors*dim)
	for f := range manifoldFactors {
		strength := 1.2 / math.Sqrt(float64(f+1))
		for j := range dim {
			factors[f*dim+j] = float64(strength * stream.normal())
		}
	}
	for k := range manifoldPatches {
		m.fillPatch(k, factors, stream)
	}
	return m
}

// fillPatch draws the centre and the map of patch k.
func (m *manifold) fillPatch(k int, factors []float64, stream *normalStream) {
	centre := m.centres[k*m.dim : (k+1)*m.dim]
	for f := range manifoldFactors {
		weight := 0.6 * stream.normal()
		for j := range centre {
			centre[j] += float64(weight * factors[f*m.dim+j])
		}
	}
	scale := 0.08 + float64(0.3*stream.uniform())
	for feature := range manifoldFeatures {
		strength := scale / math.Sqrt(float64(1+feature%manifoldLatents)) // latents differ in importance
		if feature >= manifoldLatents {
			strength *= 0.4 // curvature
		}
		column := m.maps[(k*manifoldFeatures+feature)*m.dim:][:m.dim]
		for j := range column {
			column[j] = float64(strength * stream.normal())
		}
	}
}

func (m *manifold) row(i int, dst []float32) {
	stream := rowStream(m.seed, i)
	k := min(sort.SearchFloat64s(m.cumulative, stream.uniform()), manifoldPatches-1)
	var phi [manifoldFeatures]float64
	for l := range manifoldLatents {
		phi[l] = stream.normal()
	}
	stretch := 1 + float64(0.5*softSign(phi[0])) // denser on one side of the patch
	for l := range manifoldLatents {
		u, next := phi[l], phi[(l+1)%manifoldLatents]
		phi[manifoldLatents+l] = float64(0.7 * (float64(u*u) - 1))
		phi[2*manifoldLatents+l] = u * next
	}
	var buffer [64]float64
	point := buffer[:0]
	if m.dim > len(buffer) {
		point = make([]float64, 0, m.dim)
	}
	point = point[:m.dim]
	for feature, weight := range phi {
		weight *= stretch
		for j, w := range m.maps[(k*manifoldFeatures+feature)*m.dim:][:m.dim] {
			point[j] += float64(weight * w)
		}
	}
	for j, c := range m.centres[k*m.dim : (k+1)*m.dim] {
		x := point[j] + c
		x += float64(0.5 * float64(x*softSign(x))) // bends the whole space
		dst[j] = float32(x + float64(manifoldNoise*stream.normal()))
	}
}
