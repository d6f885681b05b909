package classical

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"github.com/gritvq/gritvq/internal/parallel"
)

// entry is one element of a row.
type entry struct {
	item  int32
	value float64
	key   float64 // the larger, the sooner it is kept
}

// entryBytes is the size of an entry.
const entryBytes = 24

// sum adds up the values of a row of a sparse matrix.
type sum struct {
	values  []float64
	touched []int32
}

func (s *sum) add(item int32, x float64) {
	if s.values[item] == 0 {
		s.touched = append(s.touched, item)
	}
	s.values[item] += x
}

// rowBlock is the number of rows that a goroutine makes at a time.
const rowBlock = 64

// makeTable makes n rows: fill adds values to an empty sum, and rank gives each
// value's importance. A row keeps the most important entries, of equal ones those of
// the lower item numbers. It holds at most n times most entries, whatever the data.
func makeTable(
	ctx context.Context, n, most int, fill func(i int32, s *sum), rank func(i, item int32, value float64) float64,
) (table, error) {
	rows := make([][]entry, n)
	pool := sync.Pool{New: func() any { return &sum{values: make([]float64, n)} }}
	err := parallel.Each((n+rowBlock-1)/rowBlock, 0, func(block int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := pool.Get().(*sum)
		defer pool.Put(s)
		for i := block * rowBlock; i < min(n, (block+1)*rowBlock); i++ {
			fill(int32(i), s)
			row := make([]entry, 0, len(s.touched))
			for _, item := range s.touched {
				if value := s.values[item]; value != 0 {
					row = append(row, entry{item, value, rank(int32(i), item, value)})
				}
				s.values[item] = 0
			}
			s.touched = s.touched[:0]
			rows[i] = slices.Clone(keep(row, most))
		}
		return nil
	})
	if err != nil {
		return table{}, err
	}
	t := table{offsets: make([]int, n+1)}
	for i, row := range rows {
		t.offsets[i+1] = t.offsets[i] + len(row)
	}
	t.items, t.values = make([]int32, t.offsets[n]), make([]float32, t.offsets[n])
	for i, row := range rows {
		for j, e := range row {
			t.items[t.offsets[i]+j], t.values[t.offsets[i]+j] = e.item, float32(e.value)
		}
		rows[i] = nil
	}
	return t, nil
}

// keep returns the most entries of the largest keys, by their items. 0 keeps all.
func keep(row []entry, most int) []entry {
	if most > 0 && len(row) > most {
		slices.SortFunc(row, func(a, b entry) int { return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.item, b.item)) })
		row = row[:most]
	}
	slices.SortFunc(row, func(a, b entry) int { return cmp.Compare(a.item, b.item) })
	return row
}

// bySize is the rank of entries that the largest values are kept of.
func bySize(_, _ int32, value float64) float64 { return math.Abs(value) }

// places lists where each item was taken: users and places in their sequences.
type places struct {
	offsets []int
	users   []int32
	at      []int32
}

func placesOf(users [][]int32, items int) places {
	p := places{offsets: make([]int, items+1)}
	for _, sequence := range users {
		for _, item := range sequence {
			p.offsets[item+1]++
		}
	}
	for i := range items {
		p.offsets[i+1] += p.offsets[i]
	}
	p.users, p.at = make([]int32, p.offsets[items]), make([]int32, p.offsets[items])
	next := slices.Clone(p.offsets)
	for u, sequence := range users {
		for at, item := range sequence {
			p.users[next[item]], p.at[next[item]] = int32(u), int32(at)
			next[item]++
		}
	}
	return p
}

// each calls for every place of an item.
func (p places) each(item int32, do func(user, at int32)) {
	for i := p.offsets[item]; i < p.offsets[item+1]; i++ {
		do(p.users[i], p.at[i])
	}
}

// distinct returns every user's items, each once, in ascending order.
func distinct(users [][]int32) [][]int32 {
	sets := make([][]int32, len(users))
	for u, sequence := range users {
		set := slices.Clone(sequence)
		slices.Sort(set)
		sets[u] = slices.Compact(set)
	}
	return sets
}
