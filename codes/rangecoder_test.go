package codes

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

// coded is one step of a range coder: a symbol, or a bit where total is 0.
type coded struct {
	start, size, total uint32
	bit, one           uint32
}

// bits is the least cost of the step.
func (c coded) bits() float64 {
	switch {
	case c.total > 0:
		return math.Log2(float64(c.total) / float64(c.size))
	case c.bit == 1:
		return -math.Log2(float64(c.one) / (1 << 16))
	}
	return -math.Log2(1 - float64(c.one)/(1<<16))
}

func (c coded) write(e *rangeEncoder) {
	if c.total > 0 {
		e.symbol(c.start, c.size, c.total)
	} else {
		e.bit(c.bit, c.one)
	}
}

// checkRead fails unless the payload holds the steps.
func checkRead(t *testing.T, payload []byte, steps []coded) {
	t.Helper()
	d := newRangeDecoder(payload)
	for i, c := range steps {
		if c.total == 0 {
			if got := d.bit(0, c.one); got != c.bit {
				t.Fatalf("step %d: bit %d, want %d", i, got, c.bit)
			}
			continue
		}
		if place := d.find(c.total); place < c.start || place >= c.start+c.size {
			t.Fatalf("step %d: place %d, want %d+%d of %d", i, place, c.start, c.size, c.total)
		}
		d.take(c.start, c.size, c.total)
	}
	if d.exhausted() {
		t.Error("the decoder read more than was written")
	}
}

func TestRangeCoderIsItsOwnInverse(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	for _, n := range []int{0, 1, 2, 3, 10, 100, 3000} {
		for range 40 {
			var steps []coded
			var ideal float64
			e := newRangeEncoder()
			for range n {
				c := coded{one: 1 + random.Uint32N(1<<16-1)}
				if random.IntN(2) == 0 {
					c.total = 1 + random.Uint32N(1<<(1+random.IntN(31)))
					c.size = 1 + random.Uint32N(c.total)
					c.start = random.Uint32N(c.total - c.size + 1)
				} else if random.Uint32N(1<<16) < c.one {
					c.bit = 1
				}
				c.write(e)
				steps = append(steps, c)
				ideal += c.bits()
			}
			payload := e.finish()
			if got := float64(8 * len(payload)); got > ideal*1.0001+16 {
				t.Fatalf("%d steps took %g bits, %g at best", n, got, ideal)
			}
			checkRead(t, payload, steps)
		}
	}
}

// Numbers just above and just below the middle between two bytes make every
// carry run through all bytes written before.
func TestRangeCoderCarries(t *testing.T) {
	steps := []coded{{start: 127, size: 2, total: 256}}
	for range 200 {
		steps = append(steps, coded{start: 1<<31 - 1, size: 2, total: 1<<32 - 1})
	}
	for _, last := range []uint32{0, 1} {
		steps = append(steps, coded{bit: last, one: 1 << 15})
		e := newRangeEncoder()
		for _, c := range steps {
			c.write(e)
		}
		checkRead(t, e.finish(), steps)
	}
	// The carry by hand: 0x00ff... plus one.
	e := &rangeEncoder{low: 1<<64 - 1, span: 1 << 50, out: []byte{7, 0xff, 0xff}}
	e.narrow(1, 1<<49)
	if !bytes.Equal(e.out, []byte{8, 0, 0}) || e.low != 0 {
		t.Errorf("the carry gave %v and %x", e.out, e.low)
	}
}

func TestRangeEncoderClones(t *testing.T) {
	e := newRangeEncoder()
	for range 50 {
		e.symbol(200, 1, 201)
	}
	before := bytes.Clone(e.out)
	other := e.clone()
	for range 50 {
		other.symbol(200, 1, 201)
	}
	if !bytes.Equal(e.out, before) {
		t.Error("writing to a clone changed the original")
	}
}

func TestRangeDecoderNoticesTheEnd(t *testing.T) {
	e := newRangeEncoder()
	var steps []coded
	for i := range 1000 {
		steps = append(steps, coded{start: uint32(i * 37 % 1000), size: 1, total: 1000})
		steps[i].write(e)
	}
	payload := e.finish()
	checkRead(t, payload, steps)
	d := newRangeDecoder(payload[:len(payload)-20])
	for range steps {
		d.take(d.find(1000), 1, 1000)
	}
	if !d.exhausted() {
		t.Error("the decoder did not notice that 20 bytes are missing")
	}
}
