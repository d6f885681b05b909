package transform

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/internal/gradtest"
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

// A grouped M is a full M with zeros off its blocks.
func TestGroupedEqualsFullWithBlocks(t *testing.T) {
	for _, groups := range []int{1, 2, 4, 9, 10} {
		c := smallConfig(KindGrouped)
		c.Groups = groups
		set, codes := trained(t, c, testCodes, testDim)
		size, _ := groupedMixer{}.shape(c, testCodes)
		in := inputs(set, codes)
		full := mat.NewDense(testCodes, testCodes, nil)
		for i := range testCodes {
			for j := range testCodes {
				if i/size == j/size {
					full.Set(i, j, in["mixer/m"].Data[i*size+j%size])
				}
			}
		}
		want := chain(full, matrix(in, "codes"), matrix(in, "feature/w"))
		gradtest.Close(t, "usable codes", c.Usable(set, codes), want.RawMatrix().Data, 1e-12)

		// dM = G Wᵀ Eᵀ on the blocks; padding has no gradient.
		up := upstream(testCodes, testDim)
		dense := chain(mat.NewDense(testCodes, testDim, up), matrix(in, "feature/w").T(), matrix(in, "codes").T())
		shape := in["mixer/m"].Shape
		blocks := mat.NewDense(shape[0], shape[1], nil)
		for i := range testCodes {
			for j := range testCodes {
				if i/size == j/size {
					blocks.Set(i, j%size, dense.At(i, j))
				}
			}
		}
		checkGradients(t, c, in, up, map[string]*mat.Dense{"mixer/m": blocks})
	}
}

func TestGroupedStartsAtTheRawCodes(t *testing.T) {
	for _, kind := range []Kind{KindGrouped, KindFull} {
		set, codes := start(t, smallConfig(kind), testCodes, testDim)
		for i, x := range apply[float32](t, smallConfig(kind), inputs(set, codes)) {
			if float32(x) != codes.Data[i] {
				t.Fatalf("%s: element %d starts at %g, the raw code has %g", kind, i, x, codes.Data[i])
			}
		}
	}
}
