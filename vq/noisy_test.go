package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/radius"
	"github.com/gritvq/gritvq/transform"
)

// noisyStep resolves variables to named inputs, with the noise of a seed.
func noisyStep(in map[string]*graph.Node, seed int64) *Context {
	ctx := training(in)
	ctx.Random = NewRandom(graph.RNGStateFromSeedForGraph(in["z"].Graph(), seed))
	return ctx
}

// Normal noise has mean 0, variance 1, the Gaussian's fourth moment and tails,
// and neighbours, halves and draws are uncorrelated; odd sizes work.
func TestNormalNoise(t *testing.T) {
	const n = 60001
	in := gradtest.Inputs{"z": {Shape: []int{n}, Data: make([]float64, n)}}
	got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
		r := seeded(in["z"])
		return []*graph.Node{r.Normal(in["z"]), r.Normal(in["z"])}
	})
	x, far := got[0], 0.0
	var moment [5]float64
	for _, v := range x {
		for p := range moment {
			moment[p] += math.Pow(v, float64(p)) / n
		}
		if math.Abs(v) > 1.959964 {
			far += 1. / n
		}
	}
	check := func(what string, got, want, deviation float64) {
		if math.Abs(got-want) > 5*deviation/math.Sqrt(n) {
			t.Errorf("%s is %.4f, want %.4f", what, got, want)
		}
	}
	check("mean", moment[1], 0, 1)
	check("variance", moment[2], 1, math.Sqrt(2))
	check("third moment", moment[3], 0, math.Sqrt(15))
	check("fourth moment", moment[4], 3, math.Sqrt(96))
	check("share beyond 1.96", far, 0.05, math.Sqrt(0.05*0.95))
	half := (n + 1) / 2
	check("correlation of neighbours", dot(x[1:], x[:n-1])/n, 0, 1)
	check("correlation of halves", 2*dot(x[half:], x[:n-half])/n, 0, math.Sqrt2)
	check("correlation of draws", dot(x, got[1])/n, 0, 1)
	squares := 0.0 // the two of a pair share their length and must still be independent
	for i := range n - half {
		squares += 2 * (x[i]*x[i] - 1) * (x[half+i]*x[half+i] - 1) / n
	}
	check("correlation of squares", squares, 0, 2*math.Sqrt2)
}

// z_q = z + |ẑ - z|·sg[v/|v|] with v = (ẑ - z) + σn, for one level and, with one
// surrogate on the sum, for three; at the default noise and at one that matters.
func TestDiVeQFormula(t *testing.T) {
	for _, noise := range []float64{1e-3, 0.5} {
		for _, levels := range []int{1, 3} {
			c := small(t, "diveq", levels)
			if c.Noise != 1e-3 {
				t.Fatalf("the default noise is %g", c.Noise)
			}
			c.Noise = noise
			f := newFixture(t, c, 3, 9)
			from := func(drawn matrix) *pushed {
				return newPushed(f.inputs(), levels, func(row int, gap []float64) []float64 {
					v := make([]float64, len(gap))
					for j := range v {
						v[j] = gap[j] + noise*drawn.row(row)[j]
					}
					return unit(v)
				})
			}
			checkPushed[float64](t, "diveq", f, from(drawnNormals[float64](t, f)), 1e-6)
			checkPushed[float32](t, "diveq in float32", f, from(drawnNormals[float32](t, f)), 1e-3)
		}
	}
}

// σ is a standard deviation, not a variance: for σ far below the gap δ, z_q
// misses the code by the part of σn across the gap, whose mean square is
// σ²(d-1) for any δ.
func TestDiVeQNoiseIsAStandardDeviation(t *testing.T) {
	const n, d, sigma = 4000, 5, 1e-2
	c := small(t, "diveq", 1)
	c.Noise = sigma
	f := newFixture(t, c, d, n)
	got := gradtest.Eval[float64](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
		out := f.q.Build(noisyStep(in, 1), in["z"])
		return []*graph.Node{out.Soft, out.Hard}
	})
	missed := 0.0
	for i := range got[0] {
		missed += math.Pow(got[0][i]-got[1][i], 2) / n
	}
	if ratio := missed / (sigma * sigma * (d - 1)); math.Abs(ratio-1) > 0.06 { // five deviations of χ²
		t.Errorf("z_q misses the code by %.3g of σ²(d-1)", ratio)
	}
}

// Without noise, the detach variant: the forward value is the code to the bit,
// gradients are as of z + |ẑ - z|·sg[s], and as of GRIT with the Euclidean radius
// in ratio mode and no transform; little noise comes close to it.
func TestDiVeQWithoutNoiseIsEuclideanGRIT(t *testing.T) {
	const n, d = 9, 3
	for _, levels := range []int{1, 3} {
		c := small(t, "diveq", levels)
		c.Noise = 0
		f := newFixture(t, c, d, n)
		p := newPushed(f.inputs(), levels, func(_ int, gap []float64) []float64 { return unit(gap) })
		checkPushed[float64](t, "detach", f, p, 1e-6)
		got := gradtest.Eval[float32](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
			out := f.q.Build(noisyStep(in, 1), in["z"])
			return []*graph.Node{out.Soft, out.Hard}
		})
		sameBits(t, "forward", got[0], got[1])

		grit := small(t, "grit", levels)
		grit.Transform, grit.Radius = transform.None(), radius.Default()
		if grit.Radius.Kind != radius.Euclidean || grit.Radius.Mode != radius.Ratio {
			t.Fatalf("the default radius is %+v", grit.Radius)
		}
		q, err := New(grit, d)
		if err != nil {
			t.Fatal(err)
		}
		weight := random(newRand(3), n, d)
		_, detached := noisyGradients[float64](t, f, weight)
		_, want := noisyGradients[float64](t, fixture{q: q, set: f.set, z: f.z}, weight)
		c.Noise = 1e-7
		if q, err = New(c, d); err != nil {
			t.Fatal(err)
		}
		_, blurred := noisyGradients[float64](t, fixture{q: q, set: f.set, z: f.z}, weight)
		for name, gradient := range want {
			gradtest.Close(t, "GRIT "+name, detached[name], gradient, 1e-12)
			gradtest.Close(t, "little noise "+name, blurred[name], gradient, 1e-5)
		}
	}
}

func TestNoiseMustBeADeviation(t *testing.T) {
	for _, method := range []string{"diveq", "sf-diveq"} {
		for _, noise := range []float64{-1e-3, math.NaN(), math.Inf(1)} {
			c := mustDefaults(t, method)
			c.Noise = noise
			mentions(t, c.Validate(8), "quantizer.noise")
		}
	}
}
