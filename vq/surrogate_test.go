package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// A small gradient step changes the gaps as [Pulls] says: by the encoder alone, and with the code at the same rate.
func TestPullsPredictTheGaps(t *testing.T) {
	const n, d = 5, 3
	for name, k := range map[string]float64{"straight-through": 0, "half": 0.5, "one": 1, "reflecting": 1.6} {
		in := gradtest.Inputs{
			"z":    {Shape: []int{n, d}, Data: []float64{1, 2, 3, 0, 1, 0, -1, 1, 2, 4, 4, 4, 2, 0, 1}},
			"code": {Shape: []int{n, d}, Data: []float64{2, 1, 3, 0, 2, 1, -2, 1, 1, 4, 4, 4, 0, 0, 0}},
			"g":    {Shape: []int{n, d}, Data: []float64{1, 0, 1, 0, -2, 1, 1, 1, 1, 1, 2, 3, 9, 9, 9}},
			"mask": {Shape: []int{n}, Data: []float64{1, 1, 1, 1, 0}},
			"k":    {Shape: []int{n}, Data: []float64{k, k, k, k, k}},
		}
		got := gradtest.Eval[float64](t, in, func(m map[string]*graph.Node) []*graph.Node {
			s := Surrogate{Value: m["g"], Gap: graph.Sub(m["code"], m["z"]), K: m["k"], Mask: m["mask"]}
			if k == 0 {
				s.K = nil
			}
			return Pulls([]Surrogate{s}, []*graph.Node{m["g"]})
		})
		const rate = 1e-7
		var ahead, encoder, both, size float64
		for i := range 3 { // row 3 lies on its code, row 4 is padding
			z, code, g := in["z"].Data[i*d:][:d], in["code"].Data[i*d:][:d], in["g"].Data[i*d:][:d]
			gap := func(z, code []float64) float64 {
				sum := 0.0
				for j := range d {
					sum += (code[j] - z[j]) * (code[j] - z[j])
				}
				return math.Sqrt(sum)
			}
			before, a := gap(z, code), 0.0
			for j := range d {
				a += g[j] * (code[j] - z[j]) / before
			}
			movedZ, movedCode := make([]float64, d), make([]float64, d)
			for j := range d {
				s := (code[j] - z[j]) / before
				movedZ[j] = z[j] - rate*(g[j]-k*a*s)
				movedCode[j] = code[j] - rate*k*a*s
			}
			if a >= 0 {
				ahead++
			}
			size += math.Abs(a)
			encoder += (before - gap(movedZ, code)) / rate
			both += (before - gap(movedZ, movedCode)) / rate
		}
		for i, want := range []float64{ahead / 3, encoder / size, both / size} {
			if math.Abs(got[i][0]-want) > 1e-5 {
				t.Errorf("%s, scalar %d: %v, want %v", name, i, got[i][0], want)
			}
		}
	}
}
