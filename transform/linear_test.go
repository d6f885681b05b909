package transform

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/weights"
)

func TestDefaultStartsAtTheRawCodes(t *testing.T) {
	for _, joint := range []bool{true, false} {
		c := Default()
		c.Joint = joint
		set, codes := start(t, c, 64, 16)
		for i, x := range apply[float32](t, c, inputs(set, codes)) {
			if float32(x) != codes.Data[i] {
				t.Fatalf("joint %v: element %d starts at %g, the raw code has %g", joint, i, x, codes.Data[i])
			}
		}
	}
}

// dA = G Wᵀ E0ᵀ B, dB = E0 W Gᵀ A, dW = (E + A Bᵀ E0)ᵀ G, dE = G Wᵀ.
func TestLinearGradientsInClosedForm(t *testing.T) {
	for _, joint := range []bool{true, false} {
		c := smallConfig(KindLinear)
		c.Joint = joint
		set, codes := trained(t, c, testCodes, testDim)
		in := inputs(set, codes)
		up := upstream(testCodes, testDim)
		g := mat.NewDense(testCodes, testDim, up)
		e, a, bt, w := matrix(in, "codes"), matrix(in, "mixer/a"), matrix(in, "mixer/b"), matrix(in, "feature/w")
		source := e
		if joint {
			source = matrix(in, "state/source")
		}
		var mixed mat.Dense
		mixed.Add(e, chain(a, bt, source))
		want := map[string]*mat.Dense{
			"mixer/a":   chain(g, w.T(), source.T(), bt.T()),
			"mixer/b":   mat.DenseCopyOf(chain(source, w, g.T(), a).T()), // stored as Bᵀ
			"feature/w": chain(mixed.T(), g),
			"codes":     chain(g, w.T()),
		}
		if !joint {
			want["codes"] = mat.NewDense(testCodes, testDim, nil)
		}
		checkGradients(t, c, in, up, want)
	}
}

// Codes that no latent selected move only through what all codes share.
func TestUnselectedCodesMoveOnlyThroughSharedVariables(t *testing.T) {
	c := smallConfig(KindLinear)
	c.RowNorm = RowNormGain
	set, codes := trained(t, c, testCodes, testDim)
	g := upstream(testCodes, testDim)
	selected := map[int]bool{1: true, 6: true}
	for i := range testCodes {
		if !selected[i] {
			clear(g[i*testDim : (i+1)*testDim])
		}
	}
	grads := gradients[float32](t, c, inputs(set, codes), g)
	for i := range testCodes {
		moves := false
		for _, x := range grads["mixer/a"][i*c.Rank : (i+1)*c.Rank] {
			moves = moves || x != 0
		}
		for _, x := range grads["codes"][i*testDim : (i+1)*testDim] {
			moves = moves || x != 0
		}
		if moves != selected[i] {
			t.Errorf("code %d: own variables move %v, selected %v", i, moves, selected[i])
		}
	}
	// A step on A and E alone leaves unselected codes where they were; a step on
	// any shared variable moves them.
	before := c.Usable(set, codes)
	for _, step := range []struct {
		paths  []string
		shared bool
	}{{[]string{"mixer/a", "codes"}, false}, {[]string{"feature/w"}, true}, {[]string{"mixer/b"}, true}, {[]string{"feature/gain"}, true}} {
		after, moved := set.Clone(), codes.Clone()
		for _, path := range step.paths {
			target := moved
			if path != "codes" {
				target = after[path]
			}
			for i, x := range grads[path] {
				target.Data[i] -= float32(0.1 * x)
			}
		}
		usable := c.Usable(after, moved)
		for i := range testCodes {
			same := true
			for j := i * testDim; j < (i+1)*testDim; j++ {
				same = same && usable[j] == before[j]
			}
			if !selected[i] && same == step.shared || selected[i] && same {
				t.Errorf("step on %v: code %d (selected %v) unmoved %v", step.paths, i, selected[i], same)
			}
		}
	}
}

func TestMixingDirectionsWaitForA(t *testing.T) {
	c := smallConfig(KindLinear)
	set, codes := start(t, c, testCodes, testDim)
	grads := gradients[float32](t, c, inputs(set, codes), upstream(testCodes, testDim))
	for i, x := range grads["mixer/b"] {
		if x != 0 {
			t.Fatalf("dB[%d] = %g while A = 0", i, x)
		}
	}
	if weights.GroupOf("state/source") != weights.State {
		t.Fatal("the mixed copy of the codes would be trained")
	}
}
