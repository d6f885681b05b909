package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// quietLoss is the loss of a training step without noise.
func quietLoss(t *testing.T, f fixture) float64 {
	t.Helper()
	return gradtest.Eval[float64](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{f.q.Build(training(in), in["z"]).Loss}
	})[0][0]
}

func TestAsinh(t *testing.T) {
	in := gradtest.Inputs{"x": {Shape: []int{8}, Data: []float64{0, 1e-3, -0.4, 1, -30, 5e3, -1e7, 3e12}}}
	build := func(in map[string]*graph.Node) []*graph.Node {
		y := asinh(in["x"])
		return []*graph.Node{y, graph.Gradient(graph.ReduceAllSum(y), in["x"])[0]}
	}
	exact, narrow := gradtest.Eval[float64](t, in, build), gradtest.Eval[float32](t, in, build)
	for i, x := range in["x"].Data {
		slope := 1 / math.Sqrt(1+x*x)
		want := math.Asinh(x)
		size := math.Max(1, math.Abs(want))
		if math.Abs(exact[0][i]-want) > 1e-12*size || math.Abs(narrow[0][i]-want) > 1e-5*size {
			t.Errorf("asinh %g is %g and %g", x, exact[0][i], narrow[0][i])
		}
		if math.Abs(exact[1][i]/slope-1) > 1e-12 || math.Abs(narrow[1][i]/slope-1) > 1e-5 {
			t.Errorf("its derivative at %g is %g and %g, want %g", x, exact[1][i], narrow[1][i], slope)
		}
	}
}

// Latents beyond the ball's usable part, and at its centre, have finite
// gradients; latents beyond count as lying at the edge.
func TestHyperVQClipsFarLatents(t *testing.T) {
	c := chosenConfig(t, "hypervq", 1)
	f := newFixture(t, c, 3, 4)
	scale := float64(f.set["level0/state/scale"].Data[0])
	edge := farthest / math.Sqrt(c.Curvature) * scale
	copy(f.z.Data, []float64{0, 0, 0, edge * 0.6, 0, edge * 0.8, 1e6 * 0.6, 0, 1e6 * 0.8, 1, 2, 3})
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
		out := f.q.Build(ctx, z)
		total := graph.Add(graph.ReduceAllSum(out.Soft), out.Loss)
		return append([]*graph.Node{hypervq{position{c, 3}}.latentFeatures(ctx.in("level0"), z)},
			graph.Gradient(total, z, ctx.Vars.Get("level0/codes"), ctx.Vars.Get("level0/feature/offset"))...)
	})
	gradtest.Close(t, "features", got[0][8:12], got[0][4:8], 1e-4)
	for i, values := range got {
		for _, x := range values {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Fatalf("output %d holds %v", i, x)
			}
		}
	}
}

// Offsets start small, positive and different from random, so that codes are
// apart; a step that would push them beyond the limit is cut.
func TestHyperVQOffsets(t *testing.T) {
	c := small(t, "hypervq", 1)
	c.Start.From = "random"
	q, _, set := startFixture(t, c, 3, 40)
	seen := map[float32]bool{}
	for _, r := range set["level0/feature/offset"].Data {
		if r <= 0 || r > 0.1 {
			t.Errorf("an offset starts at %g", r)
		}
		seen[r] = true
	}
	if len(seen) != c.Codes {
		t.Errorf("%d different offsets for %d codes", len(seen), c.Codes)
	}
	in := gradtest.Inputs{"next": {Shape: []int{3}, Data: []float64{-9, 0.5, 9}}}
	got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
		values := map[string]*graph.Node{"level0/feature/offset": in["next"]}
		Project(q, &Context{Vars: training(nil).Vars}, values)
		return []*graph.Node{values["level0/feature/offset"]}
	})[0]
	gradtest.Close(t, "projected", got, []float64{-farthest, 0.5, farthest}, 1e-6)
}
