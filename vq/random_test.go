package vq

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

func TestQuickLogIsTheLogarithm(t *testing.T) {
	in := gradtest.Inputs{"x": {Shape: []int{4000}, Data: make([]float64, 4000)}}
	rng := newRand(1)
	for i := range in["x"].Data {
		in["x"].Data[i] = float64(float32(math.Exp(80 * (rng.Float64() - 0.5))))
	}
	copy(in["x"].Data, []float64{1, 2, 0.5, 1 - 0x1p-24, 1 + 0x1p-23})
	got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{quickLog(in["x"])}
	})[0]
	for i, x := range in["x"].Data {
		if want := math.Log(x); math.Abs(got[i]-want) > 5e-6*math.Max(1, math.Abs(want)) {
			t.Fatalf("log %g is %g, want %g", x, got[i], want)
		}
	}
}

// At every uniform the noise is the Gumbel quantile, in both tails.
func TestGumbelNoiseIsTheQuantile(t *testing.T) {
	in := gradtest.Inputs{"u": {Shape: []int{10}, Data: []float64{0, 0x1p-32, 1e-7, 1e-3, 0.0499, 0.0501, 0.3, 0.9, 0.999, 1 - 0x1p-24}}}
	got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node { return []*graph.Node{gumbelOf(in["u"])} })[0]
	for i, u := range in["u"].Data {
		want := -math.Log(-math.Log1p(-math.Max(float64(float32(u)), 0x1p-33)))
		if math.Abs(got[i]-want) > 1e-4*math.Max(1, math.Abs(want)) {
			t.Errorf("the noise at %g is %g, want %g", u, got[i], want)
		}
	}
}

// Kolmogorov and Smirnov's distance between 20000 draws and the distribution
// stays below its 99.9 % point, 1.95/√n.
func TestGumbelNoiseHasItsDistribution(t *testing.T) {
	const n = 20000
	in := gradtest.Inputs{"x": {Shape: []int{n}, Data: make([]float64, n)}}
	got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{seeded(in["x"]).withGumbel(in["x"])}
	})[0]
	slices.Sort(got)
	furthest := 0.0
	for i, x := range got {
		below := math.Exp(-math.Exp(-x))
		furthest = max(furthest, math.Abs(below-float64(i)/n), math.Abs(below-float64(i+1)/n))
	}
	if furthest > 1.95/math.Sqrt(n) {
		t.Errorf("the distance to the Gumbel distribution is %g", furthest)
	}
}

// Hidden values are dropped at the given share and the others scaled up; without a
// source of noise, outside training, none is.
func TestThinnedValuesKeepTheirMean(t *testing.T) {
	const n = 20000
	in := gradtest.Inputs{"x": {Shape: []int{n}, Data: slices.Repeat([]float64{3}, n)}}
	got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
		noisy := &Context{Random: seeded(in["x"]), drop: 0.25}
		return []*graph.Node{noisy.thinned(in["x"]), (&Context{drop: 0.25}).thinned(in["x"])}
	})
	dropped := 0
	for i, x := range got[0] {
		switch {
		case x == 0:
			dropped++
		case math.Abs(x-4) > 1e-6:
			t.Fatalf("value %d is %g, want 0 or 4", i, x)
		}
		if got[1][i] != 3 {
			t.Fatalf("without noise value %d is %g", i, got[1][i])
		}
	}
	if share := float64(dropped) / n; math.Abs(share-0.25) > 0.0123 { // four deviations
		t.Errorf("%g of the values were dropped", share)
	}
}

// A level's vectors are thinned in training alone.
func TestConditionsAreThinnedInTraining(t *testing.T) {
	for _, levels := range []string{"affine", "implicit"} {
		c := small(t, "grit", 2)
		c.Transform.Levels, c.Transform.HiddenDrop = levels, 0.5
		f := newFixture(t, c, 3, 8)
		got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			plain := f.q.Build(ctx, z)
			noisy := *ctx
			noisy.Random, noisy.Given = seeded(z), plain.Index
			return []*graph.Node{plain.Hard, f.q.Build(&noisy, z).Hard, Lookup(f.q, ctx, plain.Index)}
		})
		sameBits(t, levels+" without noise", got[0], got[2])
		if slices.Equal(got[0], got[1]) {
			t.Errorf("%s: training steps drop nothing", levels)
		}
	}
}
