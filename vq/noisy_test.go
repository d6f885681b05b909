package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
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
