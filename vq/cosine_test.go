package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

// By angle (3,1) is nearer to (10,0), by distance to (0.6,0.6); the output is the
// chosen code's direction, and a running mean turns the code towards the latents.
func TestCosineComparesDirections(t *testing.T) {
	for _, method := range []string{"ste", "ema", "rotation", "grit"} {
		for distance, want := range map[string]float64{Euclidean: 1, Cosine: 0} {
			c := small(t, method, 1)
			c.Codes, c.Distance = 2, distance
			c.Transform = transform.None()
			q, err := New(c, 2)
			if err != nil {
				t.Fatal(err)
			}
			set, err := q.Init(Latents{Rows: []float32{1, 0, 0, 1, 1, 1}, N: 3, Dim: 2}, weights.Rand(1, "codes"))
			if err != nil {
				t.Fatal(err)
			}
			in := gradtest.Inputs{"z": {Shape: []int{1, 2}, Data: []float64{3, 1}}}
			for path, a := range set {
				v := gradtest.Value{Shape: a.Shape}
				for _, x := range a.Data {
					v.Data = append(v.Data, float64(x))
				}
				in[path] = v
			}
			in["level0/codes"] = gradtest.Value{Shape: []int{2, 2}, Data: []float64{10, 0, 0.6, 0.6}}
			if method == "ema" {
				in["level0/state/counts"] = gradtest.Value{Shape: []int{2}, Data: []float64{1, 1}}
				in["level0/state/sums"] = in["level0/codes"]
			}
			got := gradtest.Eval[float64](t, in, func(in map[string]*graph.Node) []*graph.Node {
				out := q.Build(&Context{Vars: weights.FromNodes(in), Training: true}, in["z"])
				nodes := []*graph.Node{graph.ConvertDType(out.Index, in["z"].DType()), out.Hard}
				if codes, ok := out.Updates["level0/codes"]; ok {
					nodes = append(nodes, codes)
				}
				return nodes
			})
			if got[0][0] != want {
				t.Errorf("%s, %s: code %v, want %v", method, distance, got[0][0], want)
			}
			if distance == Cosine {
				gradtest.Close(t, method+" output", got[1], []float64{1, 0}, 1e-6)
				if method == "ema" {
					// Decay 0.99 of (10,0) and the rest of the latent's direction.
					x, y := 9.9+0.01*3/math.Sqrt(10), 0.01/math.Sqrt(10)
					gradtest.Close(t, "direction of the mean", []float64{got[2][1] / got[2][0]}, []float64{y / x}, 1e-6)
				}
			}
		}
	}
}
