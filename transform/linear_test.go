package transform

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/internal/gradtest"
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

// Codes that no latent selected move only through parameters shared by all codes.
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

// dA = G Wᵀ Eᵀ B, dB = E W Gᵀ A, dW = Eᵀ Mᵀ G, dE = Mᵀ G Wᵀ with M = A Bᵀ.
func TestLowRankGradientsInClosedForm(t *testing.T) {
	c := smallConfig(KindLowRank)
	set, codes := trained(t, c, testCodes, testDim)
	in := inputs(set, codes)
	up := upstream(testCodes, testDim)
	g := mat.NewDense(testCodes, testDim, up)
	e, a, bt, w := matrix(in, "codes"), matrix(in, "mixer/a"), matrix(in, "mixer/b"), matrix(in, "feature/w")
	m := chain(a, bt)
	checkGradients(t, c, in, up, map[string]*mat.Dense{
		"mixer/a":   chain(g, w.T(), e.T(), bt.T()),
		"mixer/b":   mat.DenseCopyOf(chain(e, w, g.T(), a).T()), // stored as Bᵀ
		"feature/w": chain(e.T(), m.T(), g),
		"codes":     chain(m.T(), g, w.T()),
	})
}

func TestLowRankOfFullWidthStartsAtTheRawCodes(t *testing.T) {
	for _, rank := range []int{6, 9} { // d, and more than d
		c := smallConfig(KindLowRank)
		c.Rank = rank
		set, codes := start(t, c, 40, 6)
		gradtest.Close(t, "usable codes", apply[float32](t, c, inputs(set, codes)), toFloat64(codes.Data), 1e-4)
	}
}

func TestPrincipalFactorsProject(t *testing.T) {
	const k, d = 40, 6
	codes := toFloat64(weights.Normal(testRand(), 1, k, d).Data)
	deficient := append([]float64(nil), codes...)
	for i := range k {
		deficient[i*d+5] = deficient[i*d] - 2*deficient[i*d+1]
	}
	for name, e := range map[string][]float64{"full rank": codes, "deficient": deficient, "zero": make([]float64, k*d)} {
		a, b, err := principalFactors(e, k, d, d)
		if err != nil {
			t.Fatal(err)
		}
		got := multiply(a, multiplyTransposed(b, e, k, d, d), k, d, d)
		gradtest.Close(t, name, got, e, 1e-9)
	}
	// Below full width the factors give the best approximation of that rank: only
	// the smallest singular values are lost (Eckart-Young).
	a, b, err := principalFactors(codes, k, d, 4)
	if err != nil {
		t.Fatal(err)
	}
	lost := multiply(a, multiplyTransposed(b, codes, k, 4, d), k, 4, d)
	addScaled(lost, -1, codes)
	var svd mat.SVD
	svd.Factorize(mat.NewDense(k, d, codes), mat.SVDNone)
	values := svd.Values(nil)
	want := math.Hypot(values[4], values[5])
	if got := math.Sqrt(dot(lost, lost)); math.Abs(got-want) > 1e-9*want {
		t.Errorf("rank 4 loses %g, the smallest singular values give %g", got, want)
	}
}
