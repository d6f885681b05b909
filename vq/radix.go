package vq

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	. "github.com/gomlx/gomlx/core/graph"
)

// radix enumerates the points of a grid: the code of digits g is
// Σ gᵢ·Π Lⱼ over j < i, the first digit the fastest.
type radix []int

// size is the number of points.
func (r radix) size() int {
	n := 1
	for _, l := range r {
		n *= l
	}
	return n
}

// places is the weight of every digit.
func (r radix) places() []int32 {
	places, n := make([]int32, len(r)), 1
	for i, l := range r {
		places[i] = int32(n)
		n *= l
	}
	return places
}

// digits returns the digits of a code.
func (r radix) digits(code int) []int {
	out := make([]int, len(r))
	for i, l := range r {
		out[i] = code % l
		code /= l
	}
	return out
}

// code numbers rows of digits [N,w], given as whole floats; the result [N] is
// in range whatever arrives.
func (r radix) code(digits *Node) *Node {
	g := digits.Graph()
	most := make([]int32, len(r))
	for i, l := range r {
		most[i] = int32(l - 1)
	}
	whole := ConvertDType(StopGradient(digits), dtypes.Int32)
	whole = Max(Min(whole, Const(g, [][]int32{most})), ScalarZero(g, dtypes.Int32))
	return ReduceSum(Mul(whole, Const(g, [][]int32{r.places()})), -1)
}

// table is the digits of every code [K,w].
func (r radix) table(g *Graph, dtype dtypes.DType) *Node {
	sizes := make([]int32, len(r))
	for i, l := range r {
		sizes[i] = int32(l)
	}
	code := Iota(g, shapes.Make(dtypes.Int32, r.size(), len(r)), 0)
	return ConvertDType(Rem(Div(code, Const(g, [][]int32{r.places()})), Const(g, [][]int32{sizes})), dtype)
}

// constantRow is a row [1,len(values)] of x's type.
func constantRow(x *Node, values []float64) *Node {
	return ConvertDType(Const(x.Graph(), [][]float64{values}), x.DType())
}
