package vq

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	. "github.com/gomlx/gomlx/core/graph"
)

// radix enumerates the points of a grid: the code of digits g is
// Σ gᵢ·Π Lⱼ over j < i, the first digit the fastest.
type radix []int

func (r radix) size() int {
	n := 1
	for _, l := range r {
		n *= l
	}
	return n
}

// places are the weights of the digits.
func (r radix) places() []int32 {
	places, n := make([]int32, len(r)), 1
	for i, l := range r {
		places[i] = int32(n)
		n *= l
	}
	return places
}

func (r radix) digits(code int) []int {
	out := make([]int, len(r))
	for i, l := range r {
		out[i] = code % l
		code /= l
	}
	return out
}

// code numbers rows of digits [N,w], whole floats; the result [N] is always in range.
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

// publishedGrids are the FSQ paper's, by the number of codes they stand in for.
var publishedGrids = map[int]radix{
	1 << 7:  {5, 5, 5},
	1 << 8:  {8, 6, 5},
	1 << 9:  {8, 8, 8},
	1 << 10: {8, 5, 5, 5},
	1 << 12: {7, 5, 5, 5, 5},
	1 << 14: {8, 8, 8, 6, 5},
	1 << 16: {8, 8, 8, 5, 5, 5},
}

// gridFor returns the published grid or, otherwise, the grid of the most points not
// above codes, with 5 to 8 values a dimension (the paper's advice; from 2 values
// below 25 codes) that do not increase, and the fewest dimensions on a tie.
func gridFor(codes int) radix {
	if grid, ok := publishedGrids[codes]; ok {
		return grid
	}
	least := 5
	if codes < 25 {
		least = 2
	}
	var best radix
	var extend func(grid radix, size int)
	extend = func(grid radix, size int) {
		if len(best) == 0 || size > best.size() || size == best.size() && len(grid) < len(best) {
			best = slices.Clone(grid)
		}
		most := 8
		if len(grid) > 0 {
			most = grid[len(grid)-1]
		}
		for values := most; values >= least; values-- {
			if size*values <= codes {
				extend(append(grid[:len(grid):len(grid)], values), size*values)
			}
		}
	}
	extend(nil, 1)
	return best
}
