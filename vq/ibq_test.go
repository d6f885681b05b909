package vq

import (
	"math"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// Every code receives a gradient through the softmax, not only chosen ones.
func TestIBQMovesEveryCode(t *testing.T) {
	c := chosenConfig(t, "ibq", 1)
	c.Loss = Loss{UsageSoftness: 1}
	c.Entropy.Weight = 0
	f := newFixture(t, c, 3, 2) // at most two of six codes are chosen
	got := gradients(t, f, random(newRand(5), 2, 3), 1)["level0/codes"]
	for k := range c.Codes {
		if dot(got[3*k:3*k+3], got[3*k:3*k+3]) == 0 {
			t.Errorf("code %d receives no gradient", k)
		}
	}
}

// Codes placed on data start at one length in their own directions, so that the
// inner product compares directions; a random start is left alone.
func TestIBQStartsAtOneLength(t *testing.T) {
	c := small(t, "ibq", 1)
	_, sample, set := startFixture(t, c, 3, 40)
	codes, length := set["level0/codes"], norm(set["level0/codes"].Row(0))
	for k := range c.Codes {
		row := codes.Row(k)
		if math.Abs(norm(row)/length-1) > 1e-5 {
			t.Errorf("code %d has length %g, code 0 %g", k, norm(row), length)
		}
		best := -1.0
		for i := range sample.N {
			latent := sample.Rows[3*i : 3*i+3]
			inner := 0.0
			for j, x := range latent {
				inner += float64(x) * float64(row[j])
			}
			best = max(best, inner/norm(latent)/norm(row))
		}
		if best < 1-1e-5 {
			t.Errorf("code %d has the direction of no latent: cosine %g", k, best)
		}
	}
	c.Start.From = "random"
	_, _, set = startFixture(t, c, 3, 40)
	if a, b := norm(set["level0/codes"].Row(0)), norm(set["level0/codes"].Row(1)); math.Abs(a/b-1) < 1e-3 {
		t.Errorf("a random start was brought to one length, %g", a)
	}
}

// With logits so sharp that choices are certain, the entropy loss is the
// negative entropy of the batch's use of codes.
func TestIBQEntropyOfCertainChoices(t *testing.T) {
	c := small(t, "ibq", 1)
	c.Codes, c.Loss, c.Entropy = 4, Loss{UsageSoftness: 1}, Entropy{Weight: 0.5, Temperature: 1e-3}
	f := newFixture(t, c, 2, 8)
	copy(f.set["level0/codes"].Data, []float32{1, 0, 0, 1, -1, 0, 0, -1})
	for i := range 8 { // five, two, one and none of the codes
		at := []int{0, 0, 0, 0, 0, 1, 1, 2}[i]
		for j := range 2 {
			f.z.Data[2*i+j] = float64(f.set["level0/codes"].Row(at)[j])
		}
	}
	got := gradients(t, f, gradtest.Value{Shape: []int{8, 2}, Data: make([]float64, 16)}, 1)
	loss := quietLoss(t, f)
	want := 0.0
	for _, p := range []float64{5.0 / 8, 2.0 / 8, 1.0 / 8} {
		want += 0.5 * p * math.Log(p)
	}
	gradtest.Close(t, "loss", []float64{loss}, []float64{want}, 1e-6)
	for name, g := range got {
		if e := dot(g, g); math.IsNaN(e) || math.IsInf(e, 0) {
			t.Errorf("the gradient of %s has square %g", name, e)
		}
	}
}
