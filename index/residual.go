package index

import (
	"errors"
	"fmt"
	"sync"
)

// Residual approximates a vector by the sum of one code a level, each coding the
// residual of the levels before. It is immutable and safe for concurrent use.
type Residual struct {
	levels     []*Codes
	conditions []conditioned // of the levels; nil where vectors are the codes
	d          int
	local      *Additive // searches instead of the beam alone; see [NewLocal]
}

// NewResidual composes codebooks of equal dimension, first level first. It
// fails if there is none, one is nil, or the dimensions differ.
func NewResidual(levels ...*Codes) (*Residual, error) {
	if len(levels) == 0 {
		return nil, errors.New("a residual encoder needs at least one level")
	}
	for i, codes := range levels {
		if codes == nil {
			return nil, fmt.Errorf("level %d of the residual encoder has no codes", i)
		}
		if codes.d != levels[0].d {
			return nil, fmt.Errorf("level %d of the residual encoder has dimension %d, level 0 has %d: they must agree", i, codes.d, levels[0].d)
		}
	}
	return &Residual{levels: append([]*Codes(nil), levels...), d: levels[0].d}, nil
}

// Levels is the number of levels.
func (q *Residual) Levels() int { return len(q.levels) }

// Level returns the codes of level i.
func (q *Residual) Level(i int) *Codes { return q.levels[i] }

// Encode writes to out [n,levels] the codes of the rows of x [n,d] at the first
// levels (all if levels <= 0). With beam <= 1 each level takes the nearest code of
// the float32 residual. A wider beam keeps that many partial encodings from level
// to level and returns the one of least squared error among the survivors and the
// greedy encoding; ties go to the lowest codes, first level first. The codes of a
// row depend on the row, levels and beam only; a row with a NaN or an infinity gets
// zeros. workers <= 0 means GOMAXPROCS. Encode panics if there are fewer levels or
// a slice is too short.
func (q *Residual) Encode(x []float32, n, levels, beam int, out []uint32, workers int) {
	levels = q.usedLevels(levels)
	checkLengths("Residual.Encode", len(x), n*q.d, len(out), n*levels, n)
	forBlocks(n, encodeRows(beam), workers, func(from, to int) {
		e := takeEncoding(to-from, q.d, levels)
		defer e.release()
		copy(e.x, x[from*q.d:to*q.d])
		q.encodeBlock(e, beam)
		copy(out[from*levels:to*levels], e.codes)
	})
}

// Decode writes to out [n,d] the sums of the codes [n,levels] of the first levels
// (all if levels <= 0), added in float32 from the first level on, so equal codes
// give equal bits everywhere. It fails if a code is not in its codebook, and panics
// if there are fewer levels or a slice is too short.
func (q *Residual) Decode(codes []uint32, n, levels int, out []float32) error {
	levels = q.usedLevels(levels)
	checkLengths("Residual.Decode", len(codes), n*levels, len(out), n*q.d, n)
	if q.conditions != nil {
		return q.decodeConditional(codes, n, levels, out)
	}
	for i := range n {
		if err := q.decodeRow(codes[i*levels:(i+1)*levels], out[i*q.d:(i+1)*q.d]); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

func (q *Residual) decodeRow(codes []uint32, out []float32) error {
	for l, code := range codes {
		level := q.levels[l]
		if int64(code) >= int64(level.k) {
			return q.outside(code, l)
		}
		row := level.Row(int(code))
		if l == 0 {
			copy(out, row)
			continue
		}
		for j, v := range row {
			out[j] += v
		}
	}
	return nil
}

func (q *Residual) outside(code uint32, l int) error {
	return fmt.Errorf("code %d of level %d is outside its codebook of %d", code, l, q.levels[l].k)
}

// usedLevels resolves the levels argument of Encode and Decode.
func (q *Residual) usedLevels(levels int) int {
	if levels <= 0 {
		return len(q.levels)
	}
	if levels > len(q.levels) {
		panic(fmt.Sprintf("index: %d levels asked of a residual encoder of %d", levels, len(q.levels)))
	}
	return levels
}

func checkLengths(call string, in, needIn, out, needOut, n int) {
	if n < 0 || in < needIn || out < needOut {
		panic(fmt.Sprintf("index: %s of %d rows got %d numbers (needs %d) and room for %d (needs %d)",
			call, n, in, needIn, out, needOut))
	}
}

// encodeGreedy writes to e.codes the nearest code of every level's residual. Where levels
// have conditions, e.sent is the sum of the vectors.
func (q *Residual) encodeGreedy(e *encoding) {
	d, levels := q.d, e.levels
	copy(e.residual, e.x)
	for l, codes := range q.levels[:levels] {
		row := func(i int) []float32 { return codes.Row(int(e.index[i])) }
		if c := q.condition(l); c != nil {
			q.nearestConditional(e, l, c)
			row = func(i int) []float32 { return e.vectors[i*d : (i+1)*d] }
		} else {
			codes.nearestBlock(e.search, e.residual, e.index, nil)
		}
		for i, code := range e.index {
			e.codes[i*levels+l] = code
			from, to := i*d, (i+1)*d
			if q.conditions != nil {
				sum(e.sent[from:to], e.sent[from:to], row(i), l == 0)
			}
			if l+1 < levels {
				subtract(e.residual[from:to], e.residual[from:to], row(i))
			}
		}
	}
}

// subtract writes a - b to out; out may be a.
func subtract(out, a, b []float32) {
	a, b = a[:len(out)], b[:len(out)]
	for j := range out {
		out[j] = a[j] - b[j]
	}
}

// sum writes a + b to out, or b alone if it is the first; out may be a.
func sum(out, a, b []float32, first bool) {
	if first {
		copy(out, b)
		return
	}
	a, b = a[:len(out)], b[:len(out)]
	for j := range out {
		out[j] = a[j] + b[j]
	}
}

// encodeRows is the size of a worker's block: a beam multiplies the rows searched
// together.
func encodeRows(beam int) int {
	return max(groupRows, blockRows/max(1, beam)/groupRows*groupRows)
}

// encoding is the working memory for encoding one block of rows.
type encoding struct {
	rows, levels int
	x            []float32 // [rows,d]
	codes        []uint32  // [rows,levels], the result
	residual     []float32 // [rows,d]
	index        []uint32  // [rows]
	sent         []float32 // [rows,d] sum of the vectors, where levels have conditions
	vectors      []float32 // [rows,d] of a level's codes
	search       *scratch
	beam         beamMemory
}

var encodingPool = sync.Pool{New: func() any { return new(encoding) }}

func takeEncoding(rows, d, levels int) *encoding {
	e := encodingPool.Get().(*encoding)
	e.rows, e.levels = rows, levels
	e.x = resized(e.x, rows*d)
	e.codes = resized(e.codes, rows*levels)
	e.residual = resized(e.residual, rows*d)
	e.index = resized(e.index, rows)
	e.sent = resized(e.sent, rows*d)
	e.vectors = resized(e.vectors, rows*d)
	e.search = takeScratch(rows, d)
	return e
}

func (e *encoding) release() {
	e.search.release()
	e.search = nil
	encodingPool.Put(e)
}

// encodeBlock encodes e.x into e.codes.
func (q *Residual) encodeBlock(e *encoding, beam int) {
	if q.local != nil {
		q.local.encodeLocal(e, beam)
		return
	}
	q.encodeGreedy(e)
	if beam <= 1 || e.levels == 1 {
		return
	}
	alive := q.searchBeam(e, beam)
	for i := range e.rows {
		q.chooseBest(e, i, alive)
	}
}
