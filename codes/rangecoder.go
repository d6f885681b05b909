package codes

import (
	"math/bits"
	"slices"
)

// The range coder turns symbols of known probability into bytes and back. A
// payload is a number in [0, 1) written in base 256; every symbol narrows the
// interval [low, low+span) that the number lies in, in proportion to its
// probability. Span stays above 2^48, so that even a total of 2^24 leaves 24
// bits for rounding: the bits lost to rounding are not measurable.

// minSpan is where a byte is shifted out. Totals may reach 2^32.
const minSpan = 1 << 48

// probabilityBits is the precision of the probability of a bit.
const probabilityBits = 16

// rangeEncoder writes symbols. The zero value is not ready: newRangeEncoder.
type rangeEncoder struct {
	low, span uint64
	out       []byte
}

func newRangeEncoder() *rangeEncoder { return &rangeEncoder{span: 1<<64 - 1} }

// clone returns an encoder that goes its own way from here.
func (e *rangeEncoder) clone() *rangeEncoder {
	return &rangeEncoder{low: e.low, span: e.span, out: slices.Clone(e.out)}
}

// bits returns the length of the output, in whole bits.
func (e *rangeEncoder) bits() int { return 8*len(e.out) + bits.LeadingZeros64(e.span) }

// symbol writes the symbol that owns [start, start+size) of total.
func (e *rangeEncoder) symbol(start, size, total uint32) {
	unit := e.span / uint64(total)
	e.narrow(unit*uint64(start), unit*uint64(size))
}

// bit writes a bit that is 1 with probability one/2^16, 0 < one < 2^16, and
// returns it.
func (e *rangeEncoder) bit(bit, one uint32) uint32 {
	split := e.span >> probabilityBits * uint64(one)
	if bit != 0 {
		e.narrow(0, split)
	} else {
		e.narrow(split, e.span-split)
	}
	return bit
}

func (e *rangeEncoder) narrow(offset, span uint64) {
	low := e.low + offset
	if low < e.low {
		e.carry()
	}
	for ; span < minSpan; span <<= 8 {
		e.out = append(e.out, byte(low>>56))
		low <<= 8
	}
	e.low, e.span = low, span
}

// carry adds one to the bytes already written. The number stays below 1, so
// it ends at one of them.
func (e *rangeEncoder) carry() {
	for i := len(e.out) - 1; ; i-- {
		e.out[i]++
		if e.out[i] != 0 {
			return
		}
	}
}

// finish returns the payload: the shortest number within the last interval,
// the decoder reading zeros past its end.
func (e *rangeEncoder) finish() []byte {
	for length := range 9 {
		below := uint64(1<<64-1) >> (8 * length) // bits that are to be zero; all of them at first
		number := (e.low + below) &^ below
		if number-e.low >= e.span {
			continue
		}
		if number < e.low {
			e.carry()
		}
		for range length {
			e.out = append(e.out, byte(number>>56))
			number <<= 8
		}
		break
	}
	return e.out
}

// rangeDecoder reads the symbols of a payload, in the order and with the
// probabilities they were written with. It takes any bytes without failing;
// exhausted tells whether it left them behind.
type rangeDecoder struct {
	offset, span uint64 // of the number within the interval; length of that
	in           []byte
	next         int // may pass the end, where zeros are read
}

func newRangeDecoder(payload []byte) *rangeDecoder {
	d := &rangeDecoder{in: payload, span: 1<<64 - 1}
	for range 8 {
		d.offset = d.offset<<8 | uint64(d.byte())
	}
	return d
}

func (d *rangeDecoder) byte() (value byte) {
	if d.next < len(d.in) {
		value = d.in[d.next]
	}
	d.next++
	return value
}

// exhausted reports whether more was read than an encoder can have written: the
// decoder reads at most eight bytes more.
func (d *rangeDecoder) exhausted() bool { return d.next > len(d.in)+8 }

// find returns the place in [0, total) that the next symbol owns; take has to
// follow, with the same total.
func (d *rangeDecoder) find(total uint32) uint32 {
	return uint32(min(d.offset/(d.span/uint64(total)), uint64(total-1)))
}

// take consumes the symbol that owns [start, start+size) of total.
func (d *rangeDecoder) take(start, size, total uint32) {
	unit := d.span / uint64(total)
	d.narrow(unit*uint64(start), unit*uint64(size))
}

// bit reads a bit that is 1 with probability one/2^16; its first argument is
// ignored.
func (d *rangeDecoder) bit(_, one uint32) uint32 {
	split := d.span >> probabilityBits * uint64(one)
	if d.offset < split {
		d.narrow(0, split)
		return 1
	}
	d.narrow(split, d.span-split)
	return 0
}

func (d *rangeDecoder) narrow(offset, span uint64) {
	d.offset -= offset
	for ; span < minSpan; span <<= 8 {
		d.offset = d.offset<<8 | uint64(d.byte())
	}
	d.span = span
}
