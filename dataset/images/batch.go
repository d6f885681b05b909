package images

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/gritvq/gritvq/internal/parallel"
)

// Centre fills dst [len(rows), Size, Size, 3] with the middle squares of
// pictures, for evaluation. The positions in rows of damaged pictures are
// returned, ascending: their squares hold another picture of the batch and
// should be dropped. It is an error when all are damaged.
func (s *Set) Centre(rows []int, dst []uint8) (damaged []int, err error) {
	size := s.options.Size
	return s.fill(rows, dst, func(_ int, p *RGB, square []uint8) {
		p.square((p.Width-size)/2, (p.Height-size)/2, size, false, square)
	})
}

// Crops fills dst [len(rows), Size, Size, 3] with squares cut at random and
// mirrored half of the time, for training. Where and whether is a pure function
// of (seed, step, position in rows). A damaged picture is replaced by the next
// good one in rows, going round at the end; the positions of damaged ones are
// returned, ascending. It is an error when all are damaged.
func (s *Set) Crops(rows []int, seed uint64, step int64, dst []uint8) (damaged []int, err error) {
	size := s.options.Size
	return s.fill(rows, dst, func(position int, p *RGB, square []uint8) {
		left, top, mirror := chance(seed, step, position, p.Width-size+1, p.Height-size+1)
		p.square(left, top, size, mirror, square)
	})
}

// chance draws 0 <= left < columns, 0 <= top < rows and a coin.
func chance(seed uint64, step int64, position, columns, rows int) (left, top int, mirror bool) {
	var key [24]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(step))
	binary.LittleEndian.PutUint64(key[16:], uint64(position))
	digest := sha256.Sum256(key[:])
	below := func(n int, word []byte) int {
		high, _ := bits.Mul64(binary.LittleEndian.Uint64(word), uint64(n))
		return int(high)
	}
	return below(columns, digest[:]), below(rows, digest[8:]), digest[16]&1 == 1
}

// fill cuts a square from every picture, several at a time, then repairs the
// places of damaged ones.
func (s *Set) fill(rows []int, dst []uint8, cut func(position int, p *RGB, square []uint8)) ([]int, error) {
	bytes := s.options.Size * s.options.Size * 3
	if bytes == 0 {
		return nil, fmt.Errorf("%s was opened without a size of squares; set Options.Size", s.path)
	}
	if len(dst) != len(rows)*bytes {
		return nil, fmt.Errorf("%d squares of %d pixels take %d bytes, not %d", len(rows), s.options.Size, len(rows)*bytes, len(dst))
	}
	for _, row := range rows {
		if err := s.check(row); err != nil {
			return nil, err
		}
	}
	place := func(position int) []uint8 { return dst[position*bytes : (position+1)*bytes] }
	bad := make([]error, len(rows)) // why a position has no picture of its own
	err := parallel.Each(len(rows), s.options.Workers, func(position int) error {
		p, err := s.prepared(rows[position])
		if err == nil {
			cut(position, p, place(position))
			return nil
		}
		if _, isDamage := errors.AsType[*Damage](err); isDamage {
			bad[position] = err
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var damaged []int
	for position, reason := range bad {
		if reason == nil {
			continue
		}
		damaged = append(damaged, position)
		substitute := nextGood(bad, position)
		if substitute < 0 {
			return nil, fmt.Errorf("none of the %d pictures of a batch from %s can be used: %w", len(rows), s.path, reason)
		}
		p, err := s.prepared(rows[substitute])
		if err != nil {
			return nil, err
		}
		cut(position, p, place(position))
	}
	return damaged, nil
}

// nextGood is the first position after the given one, going round, without an
// error; -1 if there is none.
func nextGood(bad []error, position int) int {
	for i := 1; i < len(bad); i++ {
		if next := (position + i) % len(bad); bad[next] == nil {
			return next
		}
	}
	return -1
}
