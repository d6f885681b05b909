package transform

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute/shapes"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// groupedMixer learns a block-diagonal M: consecutive codes form groups of
// ceil(K/Groups), the last one holding the rest. M is stored as its rows,
// [blocks*size, size]; rows and columns past the last code are padding.
type groupedMixer struct{}

// shape returns the size of a block and how many there are.
func (groupedMixer) shape(c Config, k int) (size, blocks int) {
	size = (k + c.Groups - 1) / c.Groups
	return size, (k + size - 1) / size
}

func (groupedMixer) check(c Config, k, _ int) error {
	if c.Groups < 1 || c.Groups > k {
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

func (m groupedMixer) mix(c Config, p variables) []float64 {
	size, _ := m.shape(c, p.k)
	return mixRows(blockRows{p.get("mixer/m"), p.get("codes"), p.k, p.d, size}, p)
}

func (m groupedMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64, _ PlaceMode) ([]Touched, error) {
	size, _ := m.shape(c, codes.Shape[0])
	return placeBlocks(c, set, codes, rows, y, size)
}

// graph multiplies every group by its block: [blocks,size,size] x [blocks,size,d].
func (m groupedMixer) graph(c Config, v weights.Vars, codes *Node) *Node {
	k, d := codes.Shape().Dimensions[0], codes.Shape().Dimensions[1]
	size, blocks := m.shape(c, k)
	padded := codes
	if padding := blocks*size - k; padding > 0 {
		padded = Concatenate([]*Node{codes, Zeros(codes.Graph(), shapes.Make(codes.DType(), padding, d))}, 0)
	}
	mixing := Reshape(v.Get("mixer/m"), blocks, size, size)
	x := Dot(mixing, Reshape(padded, blocks, size, d)).General([]int{2}, []int{0}, []int{1}, []int{0})
	x = Reshape(x, blocks*size, d)
	if blocks*size > k {
		x = Slice(x, AxisRange(0, k))
	}
	return x
}

// graphRows computes all codes: gathering the group of every selected row would
// move size times as much data as one row of the product needs.
func (m groupedMixer) graphRows(c Config, v weights.Vars, codes, at *Node) *Node {
	return Gather(m.graph(c, v, codes), at)
}
