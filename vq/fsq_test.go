package vq

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// The grids of the FSQ paper's table of recommended sizes.
func TestPublishedGrids(t *testing.T) {
	for codes, want := range map[int][]int{
		128: {5, 5, 5}, 256: {8, 6, 5}, 512: {8, 8, 8}, 1024: {8, 5, 5, 5},
		4096: {7, 5, 5, 5, 5}, 16384: {8, 8, 8, 6, 5}, 65536: {8, 8, 8, 5, 5, 5},
	} {
		if got := gridFor(codes); !slices.Equal(got, want) {
			t.Errorf("%d codes: grid %v, want %v", codes, got, want)
		}
	}
}

// Other sizes: the most points that fit, found here by trying every product.
func TestGridsOfOtherSizes(t *testing.T) {
	products := map[int]bool{}
	var multiply func(size int)
	multiply = func(size int) {
		products[size] = true
		for l := 5; l <= 8 && size*l <= 40000; l++ {
			multiply(size * l)
		}
	}
	multiply(1)
	for _, codes := range []int{30, 100, 2000, 2048, 8192, 32768, 40000} {
		grid, most := gridFor(codes), 0
		for size := range products {
			if size <= codes {
				most = max(most, size)
			}
		}
		if grid.size() != most {
			t.Errorf("%d codes: grid %v has %d points, %d would fit", codes, grid, grid.size(), most)
		}
		if slices.Min(grid) < 5 || slices.Max(grid) > 8 || !slices.IsSortedFunc(grid, func(a, b int) int { return b - a }) {
			t.Errorf("%d codes: grid %v", codes, grid)
		}
	}
	for codes, want := range map[int][]int{2: {2}, 7: {7}, 16: {8, 2}, 24: {8, 3}} {
		if got := gridFor(codes); !slices.Equal(got, want) {
			t.Errorf("%d codes: grid %v, want %v", codes, got, want)
		}
	}
}

// The vocabulary, the denominator of utilization, is the product of the grid.
func TestFSQVocabularyIsTheProductOfTheGrid(t *testing.T) {
	c := mustDefaults(t, "fsq")
	c.Codes, c.Parts, c.Levels = 256, 2, 2
	q, err := New(c, 8)
	if err != nil {
		t.Fatal(err)
	}
	if got := q.Layout().Vocab; !slices.Equal(got, []int{240, 240, 240, 240}) {
		t.Errorf("vocabulary %v", got)
	}
	c.Grid = []int{7, 3}
	if q, err = New(c, 8); err != nil {
		t.Fatal(err)
	}
	if got := q.Layout().Vocab[0]; got != 21 {
		t.Errorf("vocabulary %d", got)
	}
	c.Grid = []int{5, 1}
	mentions(t, c.Validate(8), "quantizer.grid")
	c.Grid = slices.Repeat([]int{8}, 30)
	mentions(t, c.Validate(8), "quantizer.grid", "points")
	c.Grid, c.Loss.Commitment = nil, 1
	mentions(t, c.Validate(8), "quantizer.loss.commitment")
}

// fsqBound and fsqRound are the published formulas for a dimension of l values.
func fsqBound(l int, y float64) float64 {
	h, o := float64(l-1)*1.001/2, 0.0
	if l%2 == 0 {
		o = 0.5
	}
	return math.Tanh(y+math.Atanh(o/h))*h - o
}

// Without a projection: values, codes (first dimension fastest) and gradients
// equal the formulas; every value of even and odd dimensions is reached, none
// beyond.
func TestFSQFormula(t *testing.T) {
	grid := []int{2, 3, 4, 5, 8}
	c := small(t, "fsq", 1)
	c.Grid = grid
	const n = 400
	f := newFixture(t, c, len(grid), n)
	for i := range f.z.Data {
		f.z.Data[i] *= 3 // out to where tanh is flat
	}
	weight := random(newRand(2), n, len(grid))
	got := gradtest.Eval[float64](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
		out := f.q.Build(training(in), in["z"])
		return []*graph.Node{out.Hard, out.Index, out.Loss}
	})
	gradient := gradients(t, f, weight, 1)["z"]
	seen := make([]map[float64]bool, len(grid))
	for r := range n {
		code, place := 0, 1
		for i, l := range grid {
			at := r*len(grid) + i
			z := f.z.Data[at]
			value := math.Round(fsqBound(l, z))
			if want := value / float64(l/2); math.Abs(got[0][at]-want) > 1e-12 {
				t.Fatalf("%g in %d values: %g, want %g", z, l, got[0][at], want)
			}
			slope := (fsqBound(l, z+1e-6) - fsqBound(l, z-1e-6)) / 2e-6 / float64(l/2)
			if want := weight.Data[at] * slope; math.Abs(gradient[at]-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("%g in %d values: gradient %g, want %g", z, l, gradient[at], want)
			}
			code += (int(value) + l/2) * place
			place *= l
			if seen[i] == nil {
				seen[i] = map[float64]bool{}
			}
			seen[i][value] = true
		}
		if int(got[1][r]) != code {
			t.Fatalf("row %d: code %v, want %d", r, got[1][r], code)
		}
	}
	for i, l := range grid {
		if len(seen[i]) != l {
			t.Errorf("dimension of %d values took %d", l, len(seen[i]))
		}
	}
	if got[2][0] != 0 {
		t.Errorf("loss %v", got[2][0])
	}
}

// Projected, alone and residual: gradients of latents and of both projections of
// every level are finite differences of the straight-through surrogate.
func TestFSQGradients(t *testing.T) {
	for _, levels := range [][]string{{"level0"}, {"level0", "level1"}} {
		c := small(t, "fsq", len(levels))
		c.Grid = []int{5, 4, 8}
		f := newFixture(t, c, 4, 7)
		s := implicitSurrogate{
			levels: levels,
			bound:  func(i int, y float64) float64 { return fsqBound(c.Grid[i], y) },
			round:  func(_ int, b float64) float64 { return math.Round(b) },
			unit:   func(i int) float64 { return 1 / float64(c.Grid[i]/2) },
		}
		s.check(t, f)
	}
}

// Without a projection level l divides by (L-1)^l, in every dimension its own.
func TestResidualFSQScalesItsLevels(t *testing.T) {
	c := small(t, "fsq", 3)
	c.Grid = []int{5, 4}
	f := newFixture(t, c, 2, 50)
	for path, want := range map[string][]float32{
		"level0/state/scale": {1, 1}, "level1/state/scale": {0.25, 1. / 3}, "level2/state/scale": {1. / 16, 1. / 9},
	} {
		if got := f.set[path].Data; !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	// What one level leaves of a latent inside the grid, the next one refines.
	for i := range f.z.Data {
		f.z.Data[i] = 0.3 * math.Tanh(f.z.Data[i])
	}
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
		out := f.q.Build(ctx, z)
		return []*graph.Node{out.Residuals[1], out.Residuals[2], graph.Sub(z, out.Hard)}
	})
	for l := range 2 {
		if before, after := dot(got[l], got[l]), dot(got[l+1], got[l+1]); after > before/2 {
			t.Errorf("level %d leaves %.3g of %.3g", l+1, after, before)
		}
	}
}

// Codes that were never drawn, infinite or not numbers, stay in range.
func TestFSQCodesOfBrokenLatentsAreInRange(t *testing.T) {
	c := small(t, "fsq", 1)
	c.Grid = []int{8, 5}
	f := newFixture(t, c, 2, 3)
	copy(f.z.Data, []float64{math.Inf(1), math.Inf(-1), math.NaN(), 1, 1e30, math.NaN()})
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node { return []*graph.Node{f.q.Build(ctx, z).Index} })
	if got[0][0] != 7 {
		t.Errorf("code %v of (∞,-∞), want 7", got[0][0])
	}
	for _, code := range got[0] {
		if code < 0 || code >= 40 {
			t.Errorf("code %v", code)
		}
	}
}
