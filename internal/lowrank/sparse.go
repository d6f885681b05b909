package lowrank

import (
	"fmt"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/gritvq/gritvq/internal/parallel"
)

// Entry is a number of a sparse row.
type Entry struct {
	Column int32
	Value  float32
}

// Sparse is a matrix that holds its nonzero numbers row by row, in 8 bytes each.
type Sparse struct {
	columns int
	starts  []int // [rows+1] in entries
	entries []Entry
}

// NewSparse makes a matrix of rows, which it copies. It panics on a column beyond the given number.
func NewSparse(columns int, rows [][]Entry) *Sparse {
	m := &Sparse{columns: columns, starts: make([]int, 1, len(rows)+1)}
	total := 0
	for _, row := range rows {
		total += len(row)
		m.starts = append(m.starts, total)
	}
	m.entries = make([]Entry, 0, total)
	for _, row := range rows {
		for _, e := range row {
			if e.Column < 0 || int(e.Column) >= columns {
				panic(fmt.Sprintf("lowrank.NewSparse: column %d of %d", e.Column, columns))
			}
		}
		m.entries = append(m.entries, row...)
	}
	return m
}

// Rows is the number of rows.
func (m *Sparse) Rows() int { return len(m.starts) - 1 }

func (m *Sparse) transpose() *Sparse {
	t := &Sparse{columns: m.Rows(), starts: make([]int, m.columns+1), entries: make([]Entry, len(m.entries))}
	for _, e := range m.entries {
		t.starts[e.Column+1]++
	}
	for i := range m.columns {
		t.starts[i+1] += t.starts[i]
	}
	next := append([]int(nil), t.starts...)
	for row := range m.Rows() {
		for _, e := range m.entries[m.starts[row]:m.starts[row+1]] {
			t.entries[next[e.Column]] = Entry{int32(row), e.Value}
			next[e.Column]++
		}
	}
	return t
}

// rowBlock is the number of rows that a goroutine multiplies at a time.
const rowBlock = 256

// times returns m x for x [columns, k].
func (m *Sparse) times(x blas64.General) blas64.General {
	y := general(m.Rows(), x.Cols)
	blocks := (m.Rows() + rowBlock - 1) / rowBlock
	_ = parallel.Each(blocks, 0, func(block int) error {
		for row := block * rowBlock; row < min(m.Rows(), (block+1)*rowBlock); row++ {
			out := y.Data[row*y.Stride : row*y.Stride+y.Cols]
			for _, e := range m.entries[m.starts[row]:m.starts[row+1]] {
				weight := float64(e.Value)
				for j, v := range x.Data[int(e.Column)*x.Stride:][:x.Cols] {
					out[j] += weight * v
				}
			}
		}
		return nil
	})
	return y
}
