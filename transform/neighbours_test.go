package transform

import (
	"slices"
	"sort"
	"testing"

	"github.com/gritvq/gritvq/weights"
)

func TestNeighboursAreTheNearest(t *testing.T) {
	const n, d, k = 300, 5, 7 // more rows than a block
	codes := weights.Normal(testRand(), 1, n, d)
	got, err := Neighbours(codes, k)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		distance := func(j int) (sum float64) {
			for c, x := range codes.Row(i) {
				diff := float64(x - codes.Row(j)[c])
				sum += diff * diff
			}
			return sum
		}
		order := make([]int, n)
		for j := range order {
			order[j] = j
		}
		sort.SliceStable(order, func(a, b int) bool { return distance(order[a]) < distance(order[b]) })
		for slot, j := range got.Row(i) {
			// float32 products may swap codes that are equally far to 1e-5.
			if diff := distance(int(j)) - distance(order[slot]); diff > 1e-5 || diff < -1e-5 {
				t.Fatalf("code %d: slot %d holds %v, want %v", i, slot, got.Row(i), order[:k])
			}
		}
	}
}

func TestNeighboursPutTheCodeItselfFirst(t *testing.T) {
	codes := weights.Full(1, 4, 2) // all equal: every order is by distance
	got, err := Neighbours(codes, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float32{{0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {3, 0, 1}} {
		if !slices.Equal(got.Row(i), want) {
			t.Errorf("code %d has neighbours %v, want %v", i, got.Row(i), want)
		}
	}
	for _, k := range []int{0, 5} {
		if _, err := Neighbours(codes, k); err == nil {
			t.Errorf("%d neighbours of 4 codes gave no error", k)
		}
	}
}

func TestRefreshFollowsTheCodes(t *testing.T) {
	c := smallConfig(KindAttentionTopK)
	set, codes := start(t, c, testCodes, testDim)
	copy(codes.Row(9), codes.Row(0)) // code 9 becomes a twin of code 0
	if err := c.Refresh(set, codes); err != nil {
		t.Fatal(err)
	}
	if got := set["state/neighbours"].Row(9)[:2]; got[0] != 9 || got[1] != 0 {
		t.Errorf("code 9 has neighbours %v, want itself and its twin 0 first", got)
	}
	other := weights.Set{}
	if err := smallConfig(KindLinear).Refresh(other, codes); err != nil || len(other) != 0 {
		t.Errorf("refreshing a linear transform gave %v, %v", other, err)
	}
}
