package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// Settings that speak of stored codes are refused where there are none.
func TestComputedCodesRefuseSettingsOfStoredOnes(t *testing.T) {
	for _, method := range []string{"simvq", "fsq", "lfq"} {
		for field, break_ := range map[string]func(c *Config){
			"quantizer.resets.every": func(c *Config) { c.Resets.Every = 10 },
			"quantizer.start.from":   func(c *Config) { c.Start.From = "kmeans" },
			"quantizer.learn":        func(c *Config) { c.Learn = "ema" },
			"quantizer.cache.period": func(c *Config) { c.Cache.Period = 2 },
			"quantizer.loss":         func(c *Config) { c.Loss.Usage = 1 },
		} {
			c := mustDefaults(t, method)
			break_(&c)
			mentions(t, c.Validate(8), field, method)
		}
	}
	for _, method := range []string{"fsq", "lfq"} {
		c := mustDefaults(t, method)
		c.Shared = true
		mentions(t, c.Validate(8), "quantizer.shared", method)
		f := newFixture(t, func() Config { c.Shared = false; return c }(), 4, 2)
		_, err := Place(f.q, f.set, 0, []int{0}, make([]float32, 4))
		mentions(t, err, "cannot be moved")
		if Searchable(f.q) {
			t.Errorf("%s: codes are said to be the nearest ones", method)
		}
	}
}

// Started from data, one level of each method leaves less of Gaussian latents
// than the best single point would, and levels leave less and less.
func TestLevelsStartWithLessAndLessLeft(t *testing.T) {
	for _, method := range []string{"simvq", "fsq", "lfq", "rqvae", "kmeans-ste"} {
		c := mustDefaults(t, method)
		c.Codes, c.Levels, c.Parts = 64, 3, 1
		q, err := New(c, 7) // not the width of a code: projected
		if err != nil {
			t.Fatal(err)
		}
		rng := newRand(3)
		rows := weights.Normal(rng, 2, 600, 7)
		for i := range rows.Data {
			rows.Data[i] += 3
		}
		set, err := q.Init(Latents{Rows: rows.Data, N: 600, Dim: 7}, rng)
		if err != nil {
			t.Fatal(err)
		}
		f := fixture{q: q, set: set, z: widen(rows)}
		left := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			out := q.Build(ctx, z)
			return append(out.Residuals[1:], graph.Sub(z, out.Hard))
		})
		before := 2 * math.Sqrt(600*7)
		for l, rest := range left {
			after := math.Sqrt(dot(rest, rest))
			if !(after < 0.93*before) {
				t.Errorf("%s level %d: %.1f left of %.1f", method, l, after, before)
			}
			before = after
		}
	}
}

// gradients32 is [gradients] in float32, the product's precision, with the
// quantizer's loss at full weight.
func gradients32(t *testing.T, f fixture, weight gradtest.Value) map[string][]float64 {
	t.Helper()
	in := f.inputs()
	in["weight"] = weight
	return gradtest.Autodiff[float32](t, in, func(nodes map[string]*graph.Node) *graph.Node {
		out := f.q.Build(training(nodes), nodes["z"])
		return graph.Add(graph.ReduceAllSum(graph.Mul(out.Soft, nodes["weight"])), out.Loss)
	})
}
