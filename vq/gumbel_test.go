package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// Whatever the temperature, training draws each code with its probability under
// softmax(l): χ² over six codes stays below its 99.9 % point.
func TestGumbelDrawsCodesFromTheirSoftmax(t *testing.T) {
	const n = 6000
	c := chosenConfig(t, "gumbel", 1)
	f := newFixture(t, c, 3, n)
	for i := range f.z.Data {
		f.z.Data[i] = 0.2 * float64(i%3) // the same latent in every row
	}
	for i := range f.set["level0/projection/weight"].Data {
		f.set["level0/projection/weight"].Data[i] *= 0.1
		f.set["level0/projection/bias"].Data[i/3] = float32(i/3) / 4
	}
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
		ctx.Random, ctx.Progress = seeded(z), graph.Const(z.Graph(), float32(0.3))
		return []*graph.Node{f.q.Build(ctx, z).Index}
	})[0]
	in, scores, counts := f.inputs(), make([]float64, c.Codes), make([]float64, c.Codes)
	r := &chosenReference{config: c, n: n, d: 3}
	for k := range scores {
		scores[k] = r.logit(in, "level0", f.z.Data[:3], k)
	}
	for _, code := range got {
		counts[int(code)]++
	}
	chi := 0.0
	for k, p := range softmaxOf(scores, nil, 1) {
		if p*n < 5 {
			t.Fatalf("the fixture gives code %d probability %g", k, p)
		}
		chi += math.Pow(counts[k]-p*n, 2) / (p * n)
	}
	if chi > 20.5 {
		t.Errorf("χ² of the counts %v is %g", counts, chi)
	}
}

func TestGumbelTemperatureFallsGeometrically(t *testing.T) {
	in := gradtest.Inputs{"progress": {Data: []float64{0}}}
	g := Gumbel{Start: 2, End: 0.5}
	for progress, want := range map[float64]float64{0: 2, 0.5: 1, 1: 0.5} {
		in["progress"].Data[0] = progress
		got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
			return []*graph.Node{g.temperature(&Context{Progress: in["progress"]}, in["progress"])}
		})[0]
		gradtest.Close(t, "temperature", got, []float64{want}, 1e-6)
	}
}

// Started from data, the projection's argmax is the nearest code, however the
// latents are scaled.
func TestGumbelStartsAtTheNearestCode(t *testing.T) {
	for _, scale := range []float32{1, 1000} {
		c := small(t, "gumbel", 1)
		q, sample, _ := startFixture(t, c, 3, 60)
		for i := range sample.Rows {
			sample.Rows[i] *= scale
		}
		set, err := q.Init(sample, newRand(8))
		if err != nil {
			t.Fatal(err)
		}
		f := fixture{q: q, set: set, z: gradtest.Value{Shape: []int{60, 3}}}
		for _, x := range sample.Rows {
			f.z.Data = append(f.z.Data, float64(x))
		}
		got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			return []*graph.Node{f.q.Build(&Context{Vars: ctx.Vars}, z).Index}
		})[0]
		codes := matrix{widen(set["level0/codes"]).Data, 3}
		for i, code := range got {
			if want := nearest(f.z.Data[3*i:3*i+3], codes); int(code) != want {
				t.Errorf("scale %g: latent %d chooses code %v, the nearest is %d", scale, i, code, want)
			}
		}
	}
}
