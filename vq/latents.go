package vq

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/weights"
)

// Latents are vectors on the host, row-major.
type Latents struct {
	Rows []float32 // [N,Dim]
	N    int
	Dim  int
	ctx  context.Context // see With
}

// With returns the latents with a context: placing codes on them ends when it does.
func (s Latents) With(ctx context.Context) Latents {
	s.ctx = ctx
	return s
}

func (s Latents) context() context.Context {
	if s.ctx == nil {
		return context.Background()
	}
	return s.ctx
}

// rowsOf views a matrix as latents, sharing memory.
func rowsOf(a *weights.Array) Latents {
	return Latents{Rows: a.Data, N: a.Shape[0], Dim: len(a.Data) / a.Shape[0]}
}

// Row returns vector i, sharing memory.
func (s Latents) Row(i int) []float32 { return s.Rows[i*s.Dim : (i+1)*s.Dim] }

// first returns the leading vectors, n at most, sharing memory.
func (s Latents) first(n int) Latents {
	n = min(n, s.N)
	s.Rows, s.N = s.Rows[:n*s.Dim], n
	return s
}

// from returns the vectors from i on, sharing memory.
func (s Latents) from(i int) Latents {
	s.Rows, s.N = s.Rows[i*s.Dim:], s.N-i
	return s
}

func (s Latents) clone() Latents {
	s.Rows = slices.Clone(s.Rows)
	return s
}

// Slice returns columns [start,end).
func (s Latents) Slice(start, end int) Latents {
	if start == 0 && end == s.Dim {
		return s
	}
	out := Latents{Rows: make([]float32, s.N*(end-start)), N: s.N, Dim: end - start, ctx: s.ctx}
	for i := range s.N {
		copy(out.Row(i), s.Row(i)[start:end])
	}
	return out
}

func norm(row []float32) float64 {
	sum := 0.0
	for _, x := range row {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

func (s Latents) meanNorm() float64 {
	total := 0.0
	for i := range s.N {
		total += norm(s.Row(i))
	}
	return total / float64(max(1, s.N))
}

// spread is the standard deviation over all elements.
func (s Latents) spread() float64 {
	var sum, square float64
	for _, x := range s.Rows {
		sum += float64(x)
		square += float64(x) * float64(x)
	}
	n := float64(max(1, len(s.Rows)))
	return math.Sqrt(max(0, square/n-(sum/n)*(sum/n)))
}

// searchRows are searched between two looks at the context.
const searchRows = 4096

// subtractNearest subtracts from each row its nearest code.
func (s Latents) subtractNearest(codes *weights.Array) error {
	search, err := index.NewCodes(codes.Data, codes.Shape[0], s.Dim)
	if err != nil {
		return err
	}
	chosen := make([]uint32, s.N)
	for from := 0; from < s.N; from += searchRows {
		if err := s.context().Err(); err != nil {
			return err
		}
		search.Nearest(s.Rows[from*s.Dim:], min(searchRows, s.N-from), chosen[from:], nil, 0)
	}
	for i, code := range chosen {
		row := s.Row(i)
		for j, x := range codes.Row(int(code)) {
			row[j] -= x
		}
	}
	return nil
}

func (s Latents) normalise() {
	for i := range s.N {
		row := s.Row(i)
		if length := norm(row); length > 0 {
			for j := range row {
				row[j] = float32(float64(row[j]) / length)
			}
		}
	}
}

// components are a sample's mean [d] and its principal directions, widest first.
type components struct {
	mean, deviation []float64
	directions      [][]float64
}

func principal(s Latents) (components, error) {
	return parallel.Until(s.context(), s.principal)
}

func (s Latents) principal() (components, error) {
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

// narrowest bounds deviations from below, so that a direction scaled to unit deviation is finite even if all latents are equal.
const narrowest = 1e-30

// unit returns a direction of unit deviation and the offset of its coordinate:
// component i without one or, past the last, a random mixture with a random one.
func (c components) unit(i int, rng *rand.Rand) (direction []float64, offset float64) {
	least := max(1e-4*c.deviation[0], narrowest)
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
