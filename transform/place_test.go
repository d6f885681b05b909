package transform

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

var placedRows = []int{8, 3}

func placedTargets() []float32 {
	return weights.Normal(testRand(), 2, len(placedRows), testDim).Data
}

// checkPlaced places two codes and reports whether they landed and which other
// codes moved.
func checkPlaced(t *testing.T, name string, c Config, exactOthers bool) []Touched {
	t.Helper()
	set, codes := trained(t, c, testCodes, testDim)
	before := c.Usable(set, codes)
	targets := placedTargets()
	touched, err := c.Place(set, codes, placedRows, targets)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	after := c.Usable(set, codes)
	for n, i := range placedRows {
		want := toFloat64(targets[n*testDim : (n+1)*testDim])
		if c.RowNorm != RowNormNone {
			unit(want)
			if c.RowNorm == RowNormGain {
				for j := range want {
					want[j] *= float64(set["feature/gain"].Data[0])
				}
			}
		}
		gradtest.Close(t, fmt.Sprintf("%s: code %d", name, i), after[i*testDim:(i+1)*testDim], want, 2e-5)
	}
	placed := map[int]bool{placedRows[0]: true, placedRows[1]: true}
	moved := 0
	for i := range testCodes {
		if placed[i] {
			continue
		}
		for j := i * testDim; j < (i+1)*testDim; j++ {
			if after[j] != before[j] {
				moved++
				break
			}
		}
	}
	if exactOthers && moved != 0 {
		t.Errorf("%s: %d other codes moved", name, moved)
	}
	if !exactOthers && moved == 0 {
		t.Errorf("%s: no other code moved, the documentation says they do", name)
	}
	return touched
}

func TestPlaceLandsOnTheTarget(t *testing.T) {
	for _, kind := range allKinds {
		for _, norm := range rowNorms(kind) {
			c := smallConfig(kind)
			c.RowNorm = norm
			tabled := kind == KindLowRank || kind == KindAttentionRowNorm
			if tabled {
				c.Rank = testDim  // exact only for rank >= d
				c.Temperature = 5 // and lengths up to five times the usual one
			}
			alone := tabled || kind == KindIdentity || kind == KindLinear
			checkPlaced(t, fmt.Sprintf("%s/%s", kind, norm), c, alone)
		}
	}
	for _, norm := range []string{RowNormNone, RowNormLatent, RowNormGain} {
		for _, kind := range []Kind{KindLinear, KindFull, KindGrouped} {
			c := smallConfig(kind)
			c.RowNorm, c.Joint, c.Rank, c.Groups = norm, false, testDim+1, 2
			checkPlaced(t, fmt.Sprintf("frozen %s/%s", kind, norm), c, true)
		}
	}
}

func TestResetForgetsTheMixingAndNothingElse(t *testing.T) {
	c := smallConfig(KindLinear)
	set, codes := trained(t, c, testCodes, testDim)
	old, oldCodes := set.Clone(), codes.Clone()
	touched, err := c.Place(set, codes, placedRows, placedTargets())
	if err != nil {
		t.Fatal(err)
	}
	cleared := map[Touched]bool{}
	for _, x := range touched {
		cleared[x] = true
	}
	if len(cleared) != 4 {
		t.Errorf("touched %v, want mixer/a and codes of both rows", touched)
	}
	set["codes"], old["codes"] = codes, oldCodes
	for _, path := range set.Paths() {
		a := set[path]
		for i := range a.Shape[0] {
			same := true
			for j, x := range a.Row(i) {
				same = same && x == old[path].Row(i)[j]
			}
			if same == cleared[Touched{path, i}] {
				t.Errorf("%s row %d: unchanged %v, reported as touched %v", path, i, same, !same)
			}
		}
	}
	for _, i := range placedRows {
		for _, x := range set["mixer/a"].Row(i) {
			if x != 0 {
				t.Errorf("A keeps %g in reset row %d", x, i)
			}
		}
	}
}

func TestPlaceInAFlatFeatureMapStaysModerate(t *testing.T) {
	c := smallConfig(KindLinear)
	set, codes := trained(t, c, testCodes, testDim)
	w := set["feature/w"]
	copy(w.Row(1), w.Row(0)) // singular
	targets := placedTargets()
	if _, err := c.Place(set, codes, placedRows, targets); err != nil {
		t.Fatal(err)
	}
	for _, x := range codes.Data {
		if !(math.Abs(float64(x)) < 1e3) {
			t.Fatalf("a singular W sent a raw code to %g", x)
		}
	}
}

func TestPlaceNearestPointOfALowRank(t *testing.T) {
	c := smallConfig(KindLinear)
	c.Joint, c.Rank, c.FeatureMap = false, 2, false
	set, codes := trained(t, c, testCodes, testDim)
	before := c.Usable(set, codes)
	target := placedTargets()[:testDim]
	if _, err := c.Place(set, codes, []int{5}, target); err != nil {
		t.Fatal(err)
	}
	after := c.Usable(set, codes)
	miss := toFloat64(target)
	addScaled(miss, -1, after[5*testDim:6*testDim])
	wanted := toFloat64(target)
	addScaled(wanted, -1, before[5*testDim:6*testDim])
	if math.Sqrt(dot(miss, miss)) >= math.Sqrt(dot(wanted, wanted)) {
		t.Error("the code did not come nearer")
	}
	// What is missed is orthogonal to everything the code can reach.
	basis := linearMixer{}.basis(c, widen(set, codes))
	for r := range 2 {
		if along := dot(miss, basis[r*testDim:(r+1)*testDim]); math.Abs(along) > 1e-5 {
			t.Errorf("the code could still go %g along direction %d", along, r)
		}
	}
}

func TestPlaceErrors(t *testing.T) {
	linear, frozen, weak := smallConfig(KindLinear), smallConfig(KindAttention), smallConfig(KindFull)
	frozen.Joint = false
	good := placedTargets()
	bad := append([]float32(nil), good...)
	bad[testDim] = float32(math.NaN())
	for _, test := range []struct {
		c       Config
		rows    []int
		targets []float32
		want    string
	}{
		{linear, placedRows, good[:3], "need 8 target values"},
		{linear, []int{1, 10}, good, "code 10"},
		{linear, []int{1, 1}, good, "twice"},
		{linear, placedRows, bad, "target of code 3"},
		{frozen, placedRows, good, "joint"},
		{weak, placedRows, good, "own weight"},
	} {
		set, codes := trained(t, test.c, testCodes, testDim)
		if test.c.Kind == KindFull {
			clear(set["mixer/m"].Row(3))
		}
		old := codes.Clone()
		_, err := test.c.Place(set, codes, test.rows, test.targets)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got error %v, want one with %q", err, test.want)
		}
		for i, x := range codes.Data {
			if x != old.Data[i] {
				t.Fatalf("a failed Place (%s) changed the codes", test.want)
			}
		}
	}
}
