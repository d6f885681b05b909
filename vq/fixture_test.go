package vq

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// fixture is a small quantizer with variables away from their special starting
// values, and latents to quantize.
type fixture struct {
	q   Quantizer
	set weights.Set
	z   gradtest.Value // [n,dim]
	// exact holds inputs that float32 variables cannot.
	exact gradtest.Inputs
}

// newFixture starts the quantizer on Gaussian latents and moves every trained
// variable a little, so that A ≠ 0 and W ≠ I.
func newFixture(t testing.TB, c Config, dim, n int) fixture {
	t.Helper()
	q, err := New(c, dim)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 11))
	sample := weights.Normal(rng, 1, 200, dim)
	set, err := q.Init(Latents{Rows: sample.Data, N: 200, Dim: dim}, rng)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range set.Paths() {
		if weights.GroupOf(p) == weights.State {
			continue
		}
		for i := range set[p].Data {
			set[p].Data[i] += float32(0.1 * rng.NormFloat64())
		}
	}
	return fixture{q: q, set: set, z: random(rng, n, dim)}
}

func random(rng *rand.Rand, shape ...int) gradtest.Value {
	size := 1
	for _, d := range shape {
		size *= d
	}
	v := gradtest.Value{Shape: shape, Data: make([]float64, size)}
	for i := range v.Data {
		v.Data[i] = float64(float32(rng.NormFloat64()))
	}
	return v
}

// inputs are the latents "z" and every variable, in float64.
func (f fixture) inputs() gradtest.Inputs {
	in := gradtest.Inputs{"z": f.z}
	for p, a := range f.set {
		in[p] = widen(a)
	}
	for p, v := range f.exact {
		in[p] = v
	}
	return in
}

func widen(a *weights.Array) gradtest.Value {
	v := gradtest.Value{Shape: a.Shape, Data: make([]float64, len(a.Data))}
	for i, x := range a.Data {
		v.Data[i] = float64(x)
	}
	return v
}

// training resolves variables to the named inputs of a graph.
func training(in map[string]*graph.Node) *Context {
	return &Context{Vars: weights.FromNodes(in), Training: true}
}

// small is a configuration of the method with few codes.
func small(t testing.TB, method string, levels int) Config {
	t.Helper()
	c, err := Defaults(method)
	if err != nil {
		t.Fatal(err)
	}
	c.Codes, c.Levels = 6, levels
	c.Transform.Rank, c.Transform.TopK, c.Transform.Groups, c.Transform.ScoreDim = 2, 3, 2, 2
	c.Start = Start{From: "data"}
	return c
}

// matrix views row-major data as rows of width d.
type matrix struct {
	data []float64
	d    int
}

func (m matrix) row(i int) []float64 { return m.data[i*m.d : (i+1)*m.d] }
func (m matrix) rows() int           { return len(m.data) / m.d }

// nearest is the reference search: brute force in float64, ties to the lowest.
func nearest(x []float64, codes matrix) int {
	best, at := math.Inf(1), 0
	for i := range codes.rows() {
		sum := 0.0
		for j, c := range codes.row(i) {
			sum += (x[j] - c) * (x[j] - c)
		}
		if sum < best {
			best, at = sum, i
		}
	}
	return at
}

// linearCodes is (E + A Bᵀ E0) W [K,d] in plain loops, the default transform.
func linearCodes(in gradtest.Inputs, level string) matrix {
	e, a, b := in[level+"/codes"], in[level+"/mixer/a"], in[level+"/mixer/b"]
	source, w := in[level+"/state/source"], in[level+"/feature/w"]
	k, d, rank := e.Shape[0], e.Shape[1], a.Shape[1]
	out := matrix{make([]float64, k*d), d}
	for i := range k {
		mixed := append([]float64(nil), e.Data[i*d:(i+1)*d]...)
		for r := range rank {
			for n := range k {
				for j := range d {
					mixed[j] += a.Data[i*rank+r] * b.Data[r*k+n] * source.Data[n*d+j]
				}
			}
		}
		for j := range d {
			for l := range d {
				out.row(i)[l] += mixed[j] * w.Data[j*d+l]
			}
		}
	}
	return out
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// sameBits fails when two float32 results differ in any bit other than the sign of
// zero.
func sameBits(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: element %d is %v, want exactly %v", what, i, got[i], want[i])
		}
	}
}

// mentions fails unless the error exists and names every word.
func mentions(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one naming %q", words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not name %q", err, word)
		}
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed+1)) }

// eval32 runs graph code over the fixture in float32, the product's precision.
func (f fixture) eval32(t *testing.T, fn func(ctx *Context, z *graph.Node) []*graph.Node) [][]float64 {
	t.Helper()
	return gradtest.Eval[float32](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
		return fn(training(in), in["z"])
	})
}
