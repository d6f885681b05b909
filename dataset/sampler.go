package dataset

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/internal/memory"
)

// Selection is a sequence of distinct row numbers that takes no memory.
type Selection struct {
	order    Permutation
	identity bool
	start, n int
	base     int // added to rows of order
}

// All selects the rows 0..n-1 in order.
func All(n int) Selection { return Selection{identity: true, n: max(n, 0)} }

// Len is the number of selected rows.
func (s Selection) Len() int { return s.n }

// At returns the i-th selected row; it panics unless 0 <= i < Len, as indexing
// a slice would.
func (s Selection) At(i int) int {
	if i < 0 || i >= s.n {
		panic("data: selection position out of range")
	}
	if s.identity {
		return s.start + i
	}
	return s.base + s.order.At(s.start+i)
}

// Head selects the first n of the selected rows (all, if there are fewer).
func (s Selection) Head(n int) Selection {
	s.n = min(s.n, max(n, 0))
	return s
}

// From leaves out the first n of the selected rows.
func (s Selection) From(n int) Selection {
	n = min(s.n, max(n, 0))
	s.start, s.n = s.start+n, s.n-n
	return s
}

// Divide divides the selected rows at random, as [Split] does. Rows that are already
// in a random order keep it, and the seed does not matter.
func (s Selection) Divide(fraction float64, seed uint64) (most, part Selection) {
	most, part = Split(s.n, fraction, seed)
	if !s.identity {
		return s.From(part.n), s.Head(part.n)
	}
	most.base, part.base = s.start, s.start
	return most, part
}

// Split divides the rows 0..n-1 at random into those to train on and those
// held out. Together they are all rows, and none is in both. held gets
// round(n*fraction) rows; with 0 < fraction and n > 1 it gets at least one, and
// train always keeps at least one, so fractions outside [0, 1) behave as the
// nearest possible. The same (n, fraction, seed) always gives the same split.
func Split(n int, fraction float64, seed uint64) (train, held Selection) {
	n = max(n, 0)
	count := 0
	if fraction > 0 && n > 1 {
		count = int(math.Round(float64(n) * min(fraction, 1)))
		count = min(max(count, 1), n-1)
	}
	order := NewPermutation(n, Mix64(seed^0x73706c6974)) // "split": unlike any epoch's order
	return Selection{order: order, start: count, n: n - count}, Selection{order: order, n: count}
}

// Sampler numbers the batches of a training run. It is a pure function of its
// arguments and the step, so it needs no state to resume.
type Sampler struct {
	rows  Selection
	batch int
	seed  uint64
}

// NewSampler draws batches of the given size from rows. It is an error when
// rows is empty or batch is below 1.
func NewSampler(rows Selection, batch int, seed uint64) (*Sampler, error) {
	if rows.Len() == 0 {
		return nil, fmt.Errorf("there are no rows to draw batches from; provide more data or hold out less")
	}
	if batch < 1 {
		return nil, fmt.Errorf("a batch of %d rows is impossible; use 1 or more", batch)
	}
	if err := memory.Check(fmt.Sprintf("a batch of %d rows", batch), batch, 8); err != nil {
		return nil, err
	}
	return &Sampler{rows: rows, batch: batch, seed: seed}, nil
}

// BatchSize is the number of rows of every batch.
func (s *Sampler) BatchSize() int { return s.batch }

// Batch fills dst [BatchSize] with the row numbers of a step's batch. Every
// epoch visits every row once, in a new order; a batch that begins at the end
// of an epoch continues in the next, so all are full. It panics when
// step is negative or dst has another length.
func (s *Sampler) Batch(step int64, dst []int) {
	if step < 0 || len(dst) != s.batch {
		panic(fmt.Sprintf("data: Batch(%d) into %d rows, want a step from 0 and %d rows", step, len(dst), s.batch))
	}
	epoch, position := s.position(step)
	order := s.order(epoch)
	for i := range dst {
		if position == s.rows.Len() {
			epoch, position = epoch+1, 0
			order = s.order(epoch)
		}
		dst[i] = s.rows.At(order.At(position))
		position++
	}
}

// Epoch is the number, from 0, of the pass over the rows at the beginning of
// the step's batch.
func (s *Sampler) Epoch(step int64) int64 {
	epoch, _ := s.position(step)
	return epoch
}

// position splits the rows drawn before step into whole epochs and the rest;
// their number stays below 2^63 for any run that can end.
func (s *Sampler) position(step int64) (epoch int64, offset int) {
	drawn, rows := step*int64(s.batch), int64(s.rows.Len())
	return drawn / rows, int(drawn % rows)
}

func (s *Sampler) order(epoch int64) Permutation {
	return NewPermutation(s.rows.Len(), Mix64(s.seed)^Mix64(uint64(epoch)+0x65706f6368))
}
