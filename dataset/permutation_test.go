package dataset

import (
	"math"
	"testing"
)

func TestPermutationIsABijection(t *testing.T) {
	sizes := []int{4095, 4096, 4097, 10_000, 65_537, 99_991}
	for n := range 600 {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		for seed := range uint64(3) {
			p := NewPermutation(n, seed)
			seen := make([]bool, n)
			for i := range n {
				x := p.At(i)
				if x < 0 || x >= n || seen[x] {
					t.Fatalf("n %d seed %d: At(%d) = %d is outside or repeated", n, seed, i, x)
				}
				seen[x] = true
			}
		}
	}
}

func TestPermutationOfHugeRange(t *testing.T) {
	const n = math.MaxInt64 - 12345
	p := NewPermutation(n, 1)
	seen := map[int]bool{}
	for i := range 10_000 {
		x := p.At(n - 1 - i)
		if x < 0 || x >= n || seen[x] {
			t.Fatalf("At(%d) = %d", n-1-i, x)
		}
		seen[x] = true
	}
}

// chiSquare compares counts with equal frequencies; its expectation is
// len(counts)-1, its variance twice that.
func chiSquare(counts []int) (standardScore float64) {
	total := 0
	for _, c := range counts {
		total += c
	}
	expected := float64(total) / float64(len(counts))
	sum := 0.0
	for _, c := range counts {
		sum += (float64(c) - expected) * (float64(c) - expected) / expected
	}
	freedom := float64(len(counts) - 1)
	return (sum - freedom) / math.Sqrt(2*freedom)
}

func TestPermutationMixes(t *testing.T) {
	// All orders of few elements are about equally likely over the seeds.
	for n, orders := range map[int]int{2: 2, 3: 6, 4: 24, 5: 120} {
		counts := make([]int, orders)
		for seed := range uint64(30_000) {
			p := NewPermutation(n, seed)
			rank := 0 // Lehmer code
			for i := range n {
				smaller := 0
				for j := i + 1; j < n; j++ {
					if p.At(j) < p.At(i) {
						smaller++
					}
				}
				rank = rank*(n-i) + smaller
			}
			counts[rank]++
		}
		if score := chiSquare(counts); score > 5 {
			t.Errorf("orders of %d elements: %.1f standard deviations from uniform", n, score)
		}
	}
	// Positions say nothing about elements, nor neighbours about each other.
	const n, buckets = 200_000, 20
	p := NewPermutation(n, 42)
	place, follow := make([]int, buckets*buckets), make([]int, buckets*buckets)
	for i := range n {
		x, next := p.At(i), p.At((i+1)%n)
		place[i*buckets/n*buckets+x*buckets/n]++
		follow[x*buckets/n*buckets+next*buckets/n]++
	}
	for name, counts := range map[string][]int{"position": place, "successor": follow} {
		if score := math.Abs(chiSquare(counts)); score > 5 {
			t.Errorf("%s: %.1f standard deviations from uniform", name, score)
		}
	}
}

func BenchmarkPermutationAt(b *testing.B) {
	p := NewPermutation(1_000_003, 1)
	sum := 0
	for i := range b.N {
		sum += p.At(i % 1_000_003)
	}
	_ = sum
}
