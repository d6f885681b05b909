package vectors

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/gritvq/gritvq/dataset"
)

// syntheticPrefix begins the names of built-in sets.
const syntheticPrefix = "synthetic:"

// Limits of built-in sets: rows are made on demand, but the tables behind them
// grow with the dimension.
const (
	maxSyntheticRows = 1 << 40
	maxSyntheticDim  = 4096
)

// syntheticSet is one built-in family of vectors.
type syntheticSet struct {
	rows, dim int // defaults
	build     func(dim int, seed uint64) rowGenerator
}

// rowGenerator fills dst [Dim] with row i, a pure function of its number.
// Every operation it uses is exact or correctly rounded (+ - * / sqrt, no
// fused multiply-add, no libm), so rows are identical bit for bit everywhere.
type rowGenerator interface {
	row(i int, dst []float32)
}

var syntheticSets = map[string]syntheticSet{
	"manifold": {rows: 60_000, dim: 64, build: func(dim int, seed uint64) rowGenerator { return newManifold(dim, seed) }},
	"mixture":  {rows: 20_000, dim: 16, build: func(dim int, seed uint64) rowGenerator { return NewMixture(dim, seed) }},
}

// Synthetic returns the names Open accepts after "synthetic:".
//
//   - manifold (60,000 x 64): curved 8-dimensional patches of very unequal
//     frequency and scale, bent into the full space, with a little noise
//   - mixture (20,000 x 16): a Gaussian mixture whose optimum is known, see
//     NewMixture
//
// "?rows=N&dim=D&seed=S" changes the defaults (seed 1). The first rows of a
// longer set are those of a shorter one with the same dim and seed.
func Synthetic() []string { return []string{"manifold", "mixture"} }

// openSynthetic parses "NAME?rows=N&dim=D&seed=S".
func openSynthetic(path, spec string) (*Vectors, error) {
	name, query, _ := strings.Cut(spec, "?")
	set, ok := syntheticSets[name]
	if !ok {
		return nil, fmt.Errorf("there is no built-in set %q; known are %s", name, strings.Join(Synthetic(), ", "))
	}
	rows, dim, seed := int64(set.rows), int64(set.dim), uint64(1)
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("cannot understand %q: write it as %s%s?rows=1000&dim=32&seed=7", path, syntheticPrefix, name)
	}
	for key, list := range values {
		text := list[len(list)-1]
		switch key {
		case "rows":
			rows, err = parseCount(text, maxSyntheticRows)
		case "dim":
			dim, err = parseCount(text, maxSyntheticDim)
		case "seed":
			if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
				err = fmt.Errorf("expected a number from 0")
			}
		default:
			return nil, fmt.Errorf("%s has no parameter %q; known are rows, dim and seed", path, key)
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s in %s is impossible: %w", key, text, path, err)
		}
	}
	source := &syntheticSource{rows: int(rows), dim: int(dim), generator: set.build(int(dim), seed)}
	return newVectors(path, int(rows), int(dim), source, nil), nil
}

func parseCount(text string, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("expected a number from 1 to %d", most)
	}
	return n, nil
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

func (s *syntheticSource) readRows(start, n int, dst []float32) error {
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
	workers := runtime.GOMAXPROCS(0)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := s.rows * w / workers; i < s.rows*(w+1)/workers; i++ {
				s.generator.row(i, s.cache[i*s.dim:(i+1)*s.dim])
			}
		})
	}
	group.Wait()
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
