package transform

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gritvq/gritvq/weights"
)

// A step of equal length on every entry of B, all in the worst direction, moves
// what the codes mix in by no more at 16,384 codes than at 256.
func TestStrideBoundsTheMixedStep(t *testing.T) {
	move := func(k int) float64 {
		c := Default()
		rng := rand.New(rand.NewPCG(1, uint64(k)))
		codes := weights.Normal(rng, 1, k, 4)
		set, err := c.Init(codes, 1, rng)
		if err != nil {
			t.Fatal(err)
		}
		b := set["mixer/b"]
		step := 1e-3 * c.Stride("quantizer/level0/mixer/b", b.Shape)
		worst := 0.0 // Σ_k |ΔB_k E_k| for one column of B and one dimension
		for i := range k {
			worst += step * math.Abs(float64(codes.Data[i*4]))
		}
		return worst
	}
	small, large := move(256), move(16384)
	if large > 1.2*small {
		t.Errorf("one step moves the mixture by up to %.3g at 16384 codes and %.3g at 256", large, small)
	}
}

func TestStrideLeavesOtherVariablesAlone(t *testing.T) {
	c := Default()
	if got := c.Stride("level0/mixer/a", []int{65536, 32}); got != 1 {
		t.Errorf("A takes %g of a step, want all: it sums over the rank only", got)
	}
	if got := c.Stride("level0/mixer/b", []int{32, 256}); got != 1 {
		t.Errorf("B of 256 codes takes %g of a step, want all", got)
	}
	c.Kind = KindAttentionLowRank
	if got := c.Stride("level0/mixer/b", []int{32, 65536}); got != 1 {
		t.Errorf("attention takes %g of a step, want all: its weights sum to one", got)
	}
}
