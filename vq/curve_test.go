package vq

import (
	"testing"

	"github.com/gritvq/gritvq/weights"
)

// A walk visits every code once and is far shorter than the order it was given,
// also when there are so many codes that it goes from cluster to cluster.
func TestWalkIsShort(t *testing.T) {
	for _, k := range []int{1, 2, 100, walkAtOnce + 500} {
		codes := weights.Normal(newRand(1), 1, k, 2)
		order, err := walk(codes, 1)
		if err != nil {
			t.Fatal(err)
		}
		seen, walked := map[int]bool{}, weights.New(k, 2)
		for i, code := range order {
			seen[code] = true
			copy(walked.Row(i), codes.Row(code))
		}
		if len(order) != k || len(seen) != k {
			t.Fatalf("the walk visits %d codes in %d steps, there are %d", len(seen), len(order), k)
		}
		if k > 2 && curveLength(walked) > 0.25*curveLength(codes) {
			t.Errorf("%d codes: the walk is %.1f long, unordered %.1f", k, curveLength(walked), curveLength(codes))
		}
	}
}
