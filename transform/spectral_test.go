package transform

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

func spectralNorm(w []float64, d int) float64 {
	var svd mat.SVD
	svd.Factorize(mat.NewDense(d, d, append([]float64(nil), w...)), mat.SVDNone)
	return svd.Values(nil)[0]
}

func TestClippedFeatureConvergesOverSteps(t *testing.T) {
	const d = 24
	c := smallConfig(KindLinear)
	c.SpectralClip = 2
	rng := testRand()
	run := func(w, u []float64) (clipped, next []float64) {
		in := gradtest.Inputs{"w": {Shape: []int{d, d}, Data: w}, "u": {Shape: []int{d}, Data: u}}
		out := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			clipped, next := c.ClippedFeature(nodes["w"], nodes["u"])
			return []*graph.Node{clipped, next}
		})
		return out[0], out[1]
	}
	w, u := toFloat64(weights.Normal(rng, 1, d, d).Data), toFloat64(weights.Normal(rng, 1, d).Data)
	original := w
	for range 60 {
		w, u = run(w, u)
	}
	for i, x := range w {
		if ratio := w[0] / original[0]; math.Abs(x/original[i]-ratio) > 1e-4 {
			t.Fatal("clipping changed the shape of W, not only its scale")
		}
	}
	if got := spectralNorm(w, d); got > 2*(1+1e-3) || got < 1.98 {
		t.Errorf("after 60 steps with the bound 2 the norm is %g", got)
	}
	small := toFloat64(weights.Eye(d).Data)
	same, _ := run(small, u)
	for i, x := range same {
		if x != small[i] {
			t.Fatal("a W within the bound was changed")
		}
	}
	zero, next := run(make([]float64, d*d), u)
	if dot(zero, zero) != 0 || math.Abs(dot(next, next)-1) > 1e-5 {
		t.Errorf("a zero W gives norm² %g and a power vector of length² %g", dot(zero, zero), dot(next, next))
	}
}
