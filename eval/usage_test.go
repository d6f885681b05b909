package eval

import (
	"math"
	"slices"
	"testing"
)

func usage(t *testing.T, vocab []int, codes ...uint32) *Usage {
	t.Helper()
	u, err := NewUsage(vocab)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Add(codes, len(vocab)); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestUsageByHand(t *testing.T) {
	// Level 0 sees code 0 twice, 1 and 2 once, 3 never: 1.5 bits. Level 1 sees
	// its two codes twice each: 1 bit.
	u := usage(t, []int{4, 2}, 0, 1, 0, 0, 1, 1, 2, 0)
	want := []UsageStats{
		{Utilization: 0.75, DeadRate: 0.25, EntropyBits: 1.5, Perplexity: 2 * math.Sqrt2, TokensPerCode: 1},
		{Utilization: 1, DeadRate: 0, EntropyBits: 1, Perplexity: 2, TokensPerCode: 2},
		{Utilization: 0.875, DeadRate: 0.125, EntropyBits: 1.25, Perplexity: math.Sqrt2 + 1, TokensPerCode: 1.5},
	}
	for i, got := range []UsageStats{u.Level(0), u.Level(1), u.Mean()} {
		near(t, "utilization", got.Utilization, want[i].Utilization, 1e-15)
		near(t, "dead rate", got.DeadRate, want[i].DeadRate, 1e-15)
		near(t, "entropy", got.EntropyBits, want[i].EntropyBits, 1e-15)
		near(t, "perplexity", got.Perplexity, want[i].Perplexity, 1e-15)
		near(t, "tokens a code", got.TokensPerCode, want[i].TokensPerCode, 1e-15)
	}
	if got := u.Histogram(0); !slices.Equal(got, []uint64{2, 1, 1, 0}) {
		t.Errorf("histogram %v", got)
	}
	u.Histogram(0)[0] = 99
	if u.Histogram(0)[0] != 2 {
		t.Error("the histogram is not a copy")
	}
}

func TestUsageMerge(t *testing.T) {
	u := usage(t, []int{3, 2}, 0, 1, 2, 0)
	if err := u.Merge(usage(t, []int{3, 2}, 2, 1)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(u.Histogram(0), []uint64{1, 0, 2}) || !slices.Equal(u.Histogram(1), []uint64{1, 2}) {
		t.Errorf("%v %v", u.Histogram(0), u.Histogram(1))
	}
	fails(t, u.Merge(usage(t, []int{3, 3})), "[3 3] cannot be merged into usage of [3 2]")
	fails(t, u.Merge(usage(t, []int{3})), "cannot be merged")
}

func TestUsageErrors(t *testing.T) {
	_, err := NewUsage(nil)
	fails(t, err, "at least one level")
	_, err = NewUsage([]int{2, 0})
	fails(t, err, "level 1 has a vocabulary of 0")
	u := usage(t, []int{2, 3})
	fails(t, u.Add([]uint32{0, 0}, 1), "1 levels, usage counts 2")
	fails(t, u.Add([]uint32{0, 0, 1}, 2), "not whole rows")
	fails(t, u.Add([]uint32{0, 0, 1, 3}, 2), "row 1, level 1: code 3 is outside the vocabulary of 3")
	if u.Histogram(0)[0] != 0 {
		t.Error("a refused batch was counted")
	}
	if got, want := u.Level(0), (UsageStats{DeadRate: 1}); got != want {
		t.Errorf("without tokens: %+v", got)
	}
}
