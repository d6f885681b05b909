package transform

import (
	"testing"

	"gonum.org/v1/gonum/mat"
)

// dM = G Wᵀ Eᵀ, dW = Eᵀ Mᵀ G, dE = Mᵀ G Wᵀ.
func TestFullGradientsInClosedForm(t *testing.T) {
	c := smallConfig(KindFull)
	set, codes := trained(t, c, testCodes, testDim)
	in := inputs(set, codes)
	up := upstream(testCodes, testDim)
	g := mat.NewDense(testCodes, testDim, up)
	e, m, w := matrix(in, "codes"), matrix(in, "mixer/m"), matrix(in, "feature/w")
	checkGradients(t, c, in, up, map[string]*mat.Dense{
		"mixer/m":   chain(g, w.T(), e.T()),
		"feature/w": chain(e.T(), m.T(), g),
		"codes":     chain(m.T(), g, w.T()),
	})
}
