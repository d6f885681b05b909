package vq

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// z + sg[ẑ - z] computed literally loses bits of ẑ when |z| is much larger; the
// estimator must not.
func TestStraightThroughForwardIsTheCodeToTheBit(t *testing.T) {
	in := gradtest.Inputs{
		"z":    {Shape: []int{2, 2}, Data: []float64{1e7, -3e8, 0.1, 5}},
		"code": {Shape: []int{2, 2}, Data: []float64{0.123456789, 1.7e-5, 0.2, 5}},
	}
	got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{straightThrough{}.Connect(nil, in["z"], in["code"], nil), in["code"]}
	})
	sameBits(t, "forward", got[0], got[1])
}

func TestStraightThroughGradientGoesToTheLatentAlone(t *testing.T) {
	rng := newRand(1)
	in := gradtest.Inputs{"z": random(rng, 3, 2), "code": random(rng, 3, 2), "g": random(rng, 3, 2)}
	got := gradtest.Autodiff[float64](t, in, func(in map[string]*graph.Node) *graph.Node {
		zq := straightThrough{}.Connect(nil, in["z"], in["code"], nil)
		return graph.ReduceAllSum(graph.Mul(graph.Square(zq), in["g"]))
	})
	var want []float64
	for i, g := range in["g"].Data {
		want = append(want, 2*g*in["code"].Data[i])
	}
	gradtest.Close(t, "latent", got["z"], want, 1e-12)
	sameBits(t, "code", got["code"], make([]float64, 6))
}
