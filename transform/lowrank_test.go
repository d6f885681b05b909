package transform

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

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
	// Below full width the factors give the best approximation of that rank: what
	// is lost are the smallest singular values (Eckart-Young).
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
