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

func TestClipFeatureBoundsTheSpectralNorm(t *testing.T) {
	const d = 24
	rng := testRand()
	w, u := weights.Normal(rng, 1, d, d), weights.Normal(rng, 1, d)
	norm := spectralNorm(toFloat64(w.Data), d)
	original := w.Clone()

	if got := ClipFeature(w.Data, d, norm*1.01, u.Data, 200); math.Abs(got-norm) > 1e-4*norm {
		t.Errorf("measured norm %g, the singular values say %g", got, norm)
	}
	for i, x := range w.Data {
		if x != original.Data[i] {
			t.Fatal("a W within the limit was changed")
		}
	}
	ClipFeature(w.Data, d, 1.5, u.Data, 2) // the vector is warm
	if got := spectralNorm(toFloat64(w.Data), d); got > 1.5*(1+1e-5) || got < 1.49 {
		t.Errorf("clipped to 1.5, the norm is %g", got)
	}
	ratio := float64(w.Data[0] / original.Data[0])
	for i, x := range w.Data {
		if math.Abs(float64(x/original.Data[i])-ratio) > 1e-5 {
			t.Fatal("clipping changed the shape of W, not only its scale")
		}
	}
	if got := ClipFeature(make([]float32, d*d), d, 1, make([]float32, d), 5); got != 0 {
		t.Errorf("the zero matrix has norm %g", got)
	}
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
	for range 60 {
		w, u = run(w, u)
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
