package dataset

import (
	"math"
	"math/bits"
)

// Four rounds make a Feistel network indistinguishable from random to bounded
// observers of a large domain (Luby and Rackoff 1988). Small domains mix more
// slowly: of 5 elements some orders are visibly favoured up to 10 rounds, none
// from 12 on.
const (
	largeRounds = 8
	smallRounds = 24
	smallDomain = 1 << 10
)

// Permutation is a pseudo-random order of 0..n-1 that takes no memory: a
// Feistel network on a grid of a rows by b columns with a*b >= n, walked until
// it lands inside 0..n-1. The zero value is the empty permutation.
type Permutation struct {
	n      int
	a, b   uint64
	key    uint64
	rounds int
}

// NewPermutation returns the order of 0..n-1 that belongs to seed; n below 1
// gives an empty one.
func NewPermutation(n int, seed uint64) Permutation {
	p := Permutation{n: max(n, 0)}
	if n < 1 {
		return p
	}
	size := uint64(n)
	p.a = uint64(math.Sqrt(float64(size)))
	for p.a*p.a < size {
		p.a++
	}
	p.b = (size + p.a - 1) / p.a
	if p.rounds = largeRounds; n < smallDomain {
		p.rounds = smallRounds
	}
	p.key = Mix64(seed + weyl)
	return p
}

// Len is the number of elements.
func (p Permutation) Len() int { return p.n }

// At returns the element at position i; it panics unless 0 <= i < Len, as
// indexing a slice would.
func (p Permutation) At(i int) int {
	if i < 0 || i >= p.n {
		panic("data: permutation position out of range")
	}
	x := uint64(i)
	for {
		row, column := x/p.b, x%p.b
		key := p.key
		for r := 0; r < p.rounds; r += 2 {
			row = addModulo(row, key, column, p.a)
			key += weyl
			column = addModulo(column, key, row, p.b)
			key += weyl
		}
		// Following the cycle of a bijection from inside 0..n-1 always comes
		// back inside, and distinct starts end apart.
		if x = row*p.b + column; x < uint64(p.n) {
			return int(x)
		}
	}
}

// addModulo adds a keyed hash of other, reduced to 0..size-1, to half.
func addModulo(half, key, other, size uint64) uint64 {
	offset, _ := bits.Mul64(Mix64(key^other), size)
	if half += offset; half >= size {
		half -= size
	}
	return half
}

// weyl is 2^64 over the golden ratio: its multiples are distinct round keys.
const weyl uint64 = 0x9e3779b97f4a7c15

// Mix64 is the output function of SplitMix64 (Steele, Lea and Flood 2014).
func Mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
