package eval

import (
	"math"
	"testing"
)

// The 25th percentile of 1..5 is 2: of the samples, 0, 1 and 1.5 are below, 2 is not.
func TestCompareNearest(t *testing.T) {
	got, err := CompareNearest([]float64{0, 1, 1.5, 2, 9}, []float64{5, 3, 1, 2, 4}, 25)
	if err != nil || got != (Memorised{Threshold: 2, Share: 0.6}) {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = CompareNearest(nil, []float64{1}, 5)
	fails(t, err, "0 samples")
	_, err = CompareNearest([]float64{1}, []float64{1}, 100)
	fails(t, err, "between 0 and 100")
	_, err = CompareNearest([]float64{math.NaN()}, []float64{1}, 5)
	fails(t, err, "not a number")
}

func TestPairsAreDisjoint(t *testing.T) {
	for _, c := range []struct{ n, most, want int }{{9, 100, 4}, {9, 2, 2}, {1, 5, 0}, {0, 5, 0}} {
		pairs := DisjointPairs(c.n, c.most, 7)
		seen := map[int]bool{}
		for _, p := range pairs {
			for _, i := range p {
				if seen[i] || i < 0 || i >= c.n {
					t.Fatalf("%d of %d appears twice or is no number", i, c.n)
				}
				seen[i] = true
			}
		}
		if len(pairs) != c.want {
			t.Errorf("%d pairs of %d, want %d", len(pairs), c.n, c.want)
		}
	}
	if a, b := DisjointPairs(100, 50, 1), DisjointPairs(100, 50, 2); a[0] == b[0] && a[1] == b[1] {
		t.Error("the seed does not decide the pairs")
	}
}
