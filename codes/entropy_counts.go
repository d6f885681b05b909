package codes

import "math/bits"

const (
	// learnedTotal is the sum of the learned counts that a level starts with;
	// a code seen adds learnedStep, so that they weigh as much as 256 codes of
	// the picture.
	learnedTotal = 1 << 20
	learnedStep  = learnedTotal >> 8
	// freshStep is the increment for a code seen, where all start with 1.
	freshStep = 24
	// countsLimit is the sum at which the counts are halved: the recent
	// weighs more than the old, and the range coder keeps its precision.
	countsLimit = 1 << 24
)

// adaptiveCounts are the counts of K codes, which grow as codes are seen. They
// are kept as a Fenwick tree: the sum of the counts below a code, its change
// and its inverse take log2 K steps each.
type adaptiveCounts struct {
	sums  []uint32 // sums[i] is the sum of the counts (i & (i-1)) to i-1
	total uint32
	step  uint32
	top   int // the largest power of two up to K
}

// newAdaptiveCounts starts from the learned counts [K], or from one for every
// code if they are nil or all zero.
func newAdaptiveCounts(vocab int, learned []uint32) *adaptiveCounts {
	c := &adaptiveCounts{sums: make([]uint32, vocab+1), step: freshStep, top: 1 << (bits.Len(uint(vocab)) - 1)}
	var sum uint64
	for _, count := range learned {
		sum += uint64(count)
	}
	for code := range vocab {
		c.sums[code+1] = 1
		if sum > 0 {
			c.sums[code+1] += uint32(uint64(learned[code]) * learnedTotal / sum)
			c.step = learnedStep
		}
	}
	c.accumulate()
	return c
}

// accumulate turns the plain counts in sums into a Fenwick tree.
func (c *adaptiveCounts) accumulate() {
	c.total = 0
	for i := 1; i < len(c.sums); i++ {
		c.total += c.sums[i]
	}
	for i := 1; i < len(c.sums); i++ {
		if parent := i + i&-i; parent < len(c.sums) {
			c.sums[parent] += c.sums[i]
		}
	}
}

// below returns the sum of the counts of the codes below code.
func (c *adaptiveCounts) below(code int) (sum uint32) {
	for i := code; i > 0; i &= i - 1 {
		sum += c.sums[i]
	}
	return sum
}

// find returns the code that owns a place in [0, total), and the sum below it.
func (c *adaptiveCounts) find(place uint32) (code int, below uint32) {
	for half := c.top; half > 0; half >>= 1 {
		if next := code + half; next < len(c.sums) && below+c.sums[next] <= place {
			code, below = next, below+c.sums[next]
		}
	}
	return code, below
}

// add counts a code once more.
func (c *adaptiveCounts) add(code int) {
	for i := code + 1; i < len(c.sums); i += i & -i {
		c.sums[i] += c.step
	}
	if c.total += c.step; c.total > countsLimit {
		c.halve()
	}
}

// halve halves every count, rounding up.
func (c *adaptiveCounts) halve() {
	for i := len(c.sums) - 1; i > 0; i-- {
		if parent := i + i&-i; parent < len(c.sums) {
			c.sums[parent] -= c.sums[i]
		}
	}
	for i := 1; i < len(c.sums); i++ {
		c.sums[i] -= c.sums[i] / 2
	}
	c.accumulate()
}

// encode writes a code and counts it.
func (c *adaptiveCounts) encode(e *rangeEncoder, code uint32) {
	start := c.below(int(code))
	e.symbol(start, c.below(int(code)+1)-start, c.total)
	c.add(int(code))
}

// decode reads a code and counts it.
func (c *adaptiveCounts) decode(d *rangeDecoder) uint32 {
	code, start := c.find(d.find(c.total))
	d.take(start, c.below(code+1)-start, c.total)
	c.add(code)
	return uint32(code)
}
