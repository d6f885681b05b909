package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/radius"
	"github.com/gritvq/gritvq/transform"
)

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
// σ²(d-1) whatever δ.
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
// gradients are those of z + |ẑ - z|·sg[s], and GRIT's with the Euclidean radius
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
