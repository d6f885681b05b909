package vectors

import (
	"math/rand/v2"
	"sync"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/parallel"
)

// Limits of built-in sets: rows are made on demand, but the tables behind them
// grow with the dimension.
const (
	maxSyntheticRows = 1 << 40
	maxSyntheticDim  = 4096
)

// rowGenerator fills dst [Dim] with row i, a pure function of its number.
// Every operation it uses is exact or correctly rounded (+ - * / sqrt, no
// fused multiply-add, no libm), so rows are identical bit for bit everywhere.
type rowGenerator interface {
	row(i int, dst []float32)
}

// Built-in sets, after "synthetic:":
//
//   - manifold (60,000 x 64): curved 8-dimensional patches of very unequal
//     frequency and scale, bent into the full space, with a little noise
//   - mixture (20,000 x 16): a Gaussian mixture whose optimum is known, see
//     NewMixture
//
// "?rows=N&dim=D&seed=S" changes the defaults (seed 1). A longer set begins with
// the rows of a shorter one with the same dim and seed.
func init() {
	registerSynthetic("manifold", 60_000, 64, func(dim int, seed uint64) rowGenerator { return newManifold(dim, seed) })
	registerSynthetic("mixture", 20_000, 16, func(dim int, seed uint64) rowGenerator { return NewMixture(dim, seed) })
}

var generators = map[string]func(dim int, seed uint64) rowGenerator{}

func registerSynthetic(name string, rows, dim uint64, generator func(dim int, seed uint64) rowGenerator) {
	generators[name] = generator
	dataset.RegisterSynthetic(dataset.Vectors, dataset.Synthetic{Name: name, Parameters: []dataset.Parameter{
		{Name: "rows", Default: rows, Most: maxSyntheticRows},
		{Name: "dim", Default: dim, Most: maxSyntheticDim},
		dataset.SeedParameter,
	}})
}

func openSynthetic(path string) (*Vectors, error) {
	name, values, err := dataset.ParseSynthetic(dataset.Vectors, path)
	if err != nil {
		return nil, err
	}
	rows, dim := int(values["rows"]), int(values["dim"])
	source := &syntheticSource{rows: rows, dim: dim, generator: generators[name](dim, values["seed"])}
	return newVectors(path, rows, dim, source, nil), nil
}

// syntheticCacheBytes is the size up to which a set is generated once and kept;
// larger sets are generated as they are read.
const syntheticCacheBytes = 64 << 20

// syntheticSource reads from a generator.
type syntheticSource struct {
	rows, dim int
	generator rowGenerator
	once      sync.Once
	cache     []float32 // [rows*dim], or nil for large sets
}

func (s *syntheticSource) ReadRows(start, n int, dst []float32) error {
	if s.rows <= syntheticCacheBytes/4/s.dim {
		s.once.Do(s.fill)
		copy(dst, s.cache[start*s.dim:(start+n)*s.dim])
		return nil
	}
	for i := range n {
		s.generator.row(start+i, dst[i*s.dim:(i+1)*s.dim])
	}
	return nil
}

func (s *syntheticSource) fill() {
	s.cache = make([]float32, s.rows*s.dim)
	const shares = 64
	_ = parallel.Each(shares, 0, func(w int) error {
		for i := s.rows * w / shares; i < s.rows*(w+1)/shares; i++ {
			s.generator.row(i, s.cache[i*s.dim:(i+1)*s.dim])
		}
		return nil
	})
}

// rowStream returns the random numbers of one row, independent of all others.
func rowStream(seed uint64, row int) *normalStream {
	return newNormalStream(dataset.Mix64(seed), dataset.Mix64(uint64(row)^0x726f77))
}

// tableStream returns the random numbers of a set's fixed tables.
func tableStream(seed uint64) *normalStream {
	return newNormalStream(dataset.Mix64(seed), dataset.Mix64(0x7461626c65))
}

func newNormalStream(a, b uint64) *normalStream {
	pcg := rand.NewPCG(a, b)
	return &normalStream{random: rand.New(pcg)}
}
