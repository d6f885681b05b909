package transform

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/shapes"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// groupedMixer learns a block-diagonal M: consecutive codes form groups of
// ceil(K/Groups), the last one holding the rest. M is stored as its rows,
// [blocks*size, size]; rows and columns past the last code are padding. The full
// one has a single block: every entry of M [K,K], for small K.
type groupedMixer struct{ full bool }

// shape returns the size of a block and how many there are.
func (m groupedMixer) shape(c Config, k int) (size, blocks int) {
	if m.full {
		return k, 1
	}
	size = (k + c.Groups - 1) / c.Groups
	return size, (k + size - 1) / size
}

func (m groupedMixer) check(c Config, k, _ int) error {
	if !m.full && (c.Groups < 1 || c.Groups > k) {
		return fmt.Errorf("groups is %d: use 1 to the number of codes, %d", c.Groups, k)
	}
	return nil
}

func (m groupedMixer) start(c Config, set weights.Set, codes *weights.Array, _ *rand.Rand) error {
	size, blocks := m.shape(c, codes.Shape[0])
	mixing := weights.New(blocks*size, size)
	for i := range blocks * size {
		mixing.Data[i*size+i%size] = 1
	}
	set["mixer/m"] = mixing
	return nil
}

func (m groupedMixer) mix(c Config, p variables) []float64 { return mixRows(m.rows(c, p), p) }

// place changes the codes when they are trained, the rows of M when they are frozen.
func (m groupedMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64) ([]Touched, error) {
	if c.Joint {
		return placeBySweep(set, codes, rows, y, func(p variables) rowMixer { return m.rows(c, p) })
	}
	p := widen(set, codes)
	b := m.rows(c, p)
	mixing := make([]float64, 0, len(rows)*b.size)
	x := make([]float64, p.d)
	for n, i := range rows {
		b.row(i, x)
		miss := y[n*p.d : (n+1)*p.d]
		addScaled(miss, -1, x)
		first, last := b.block(i)
		change, err := solveRows(b.codes[first*p.d:last*p.d], last-first, p.d, miss)
		if err != nil {
			return nil, err
		}
		row := slices.Clone(b.m[i*b.size : (i+1)*b.size])
		addScaled(row[:last-first], 1, change)
		mixing = append(mixing, row...)
	}
	return store("mixer/m", set["mixer/m"], rows, mixing), nil
}

type blockRows struct {
	m, codes   []float64
	k, d, size int
}

func (m groupedMixer) rows(c Config, p variables) blockRows {
	size, _ := m.shape(c, p.k)
	return blockRows{p.get("mixer/m"), p.get("codes"), p.k, p.d, size}
}

// block returns the codes [first, last) of the block of code i.
func (b blockRows) block(i int) (first, last int) {
	first = i / b.size * b.size
	return first, min(first+b.size, b.k)
}

func (b blockRows) row(i int, x []float64) float64 {
	clear(x)
	first, last := b.block(i)
	for j := first; j < last; j++ {
		addScaled(x, b.m[i*b.size+j-first], b.codes[j*b.d:(j+1)*b.d])
	}
	return b.m[i*b.size+i-first]
}

func (b blockRows) moved(int, []float64) {}

// graph multiplies every group by its block: [blocks,size,size] x [blocks,size,d].
// It computes all codes of several groups: gathering the group of every selected
// row would move size times as much data as one row of the product needs.
func (m groupedMixer) graph(c Config, v weights.Vars, codes, at *Node) *Node {
	if m.full {
		return nn.Product(gathered(v.Get("mixer/m"), at), codes)
	}
	k, d := codes.Shape().Dimensions[0], codes.Shape().Dimensions[1]
	size, blocks := m.shape(c, k)
	padding := blocks*size - k
	if padding > 0 {
		codes = Concatenate([]*Node{codes, Zeros(codes.Graph(), shapes.Make(codes.DType(), padding, d))}, 0)
	}
	mixing := Reshape(v.Get("mixer/m"), blocks, size, size)
	x := Dot(mixing, Reshape(codes, blocks, size, d)).General([]int{2}, []int{0}, []int{1}, []int{0})
	x = Reshape(x, blocks*size, d)
	if padding > 0 {
		x = Slice(x, AxisRange(0, k))
	}
	return gathered(x, at)
}
