package transform

import (
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

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
