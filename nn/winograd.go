package nn

import (
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// winogradConvolution computes 3 x 3 convolutions of stride 1 tile by tile: 4 x 4 outputs
// of a channel cost 36 multiplications instead of 144 (Lavin and Gray, "Fast Algorithms
// for Convolutional Neural Networks", 2016, F(4x4, 3x3)). With d a tile of 6 x 6 inputs
// and g the kernel
//
//	Y = Aᵀ [ (G g Gᵀ) ⊙ (Bᵀ d B) ] A
//
// where ⊙, over all channels, is 36 matrix products. In float32 the result differs from
// the direct sum by one to three millionths of its size, patches by a quarter millionth.
type winogradConvolution struct {
	convolution
	transformed memo // input tiles, reused by the kernel's gradient
}

const (
	tile   = 4            // outputs a side
	window = tile + 3 - 1 // inputs a side
)

// The matrices of F(4, 3) in one dimension, for the points 0, ±1, ±2 and ∞.
var (
	winogradInput = [][]float64{ // Bᵀ
		{4, 0, -5, 0, 1, 0},
		{0, -4, -4, 1, 1, 0},
		{0, 4, -4, -1, 1, 0},
		{0, -2, -1, 2, 1, 0},
		{0, 2, -1, -2, 1, 0},
		{0, 4, 0, -5, 0, 1},
	}
	winogradKernel = [][]float64{ // G
		{1. / 4, 0, 0},
		{-1. / 6, -1. / 6, -1. / 6},
		{-1. / 6, 1. / 6, -1. / 6},
		{1. / 24, 1. / 12, 1. / 6},
		{1. / 24, -1. / 12, 1. / 6},
		{0, 0, 1},
	}
	winogradOutput = [][]float64{ // Aᵀ
		{1, 1, 1, 1, 1, 0},
		{0, 1, -1, 2, -2, 0},
		{0, 1, 1, 4, 4, 0},
		{0, 1, -1, 8, -8, 1},
	}
)

// fits tells whether the tiles apply and save work: few channels cost more to transform
// than to multiply.
func (c winogradConvolution) fits() bool {
	for _, t := range []taps{c.rows, c.cols} {
		if t.kernel != 3 || t.stride != 1 || t.dilation != 1 || t.out < tile {
			return false
		}
	}
	return c.groups == 1 && c.in >= 16
}

func (c winogradConvolution) output(x, kernel *graph.Node) *graph.Node {
	u := transform(winogradKernel, kernel)                                            // [36, in, out]
	y := graph.DotGeneral(c.inputTiles(x), []int{2}, []int{0}, u, []int{1}, []int{0}) // [36, tiles, out]
	return c.assemble(transform(winogradOutput, y))
}

// inputGradient is a convolution with the kernel turned round.
func (c winogradConvolution) inputGradient(adjoint, kernel *graph.Node) *graph.Node {
	back := winogradConvolution{c.convolution, memo{}}
	back.in, back.out = c.out, c.in
	for _, t := range []*taps{&back.rows, &back.cols} {
		t.in, t.out, t.before = t.out, t.in, 2-t.before
	}
	return back.output(adjoint, graph.TransposeAllAxes(graph.Reverse(kernel, 0, 1), 0, 1, 3, 2))
}

// kernelGradient sums products of the transformed input and adjoint over the tiles, the
// leading axis of both. The adjoint is transposed for that while it is small.
func (c winogradConvolution) kernelGradient(x, adjoint *graph.Node) *graph.Node {
	d := graph.Reshape(c.squares(adjoint, tile, 0, 0), -1, c.out)                     // [16 · tiles, out]
	d = graph.Reshape(graph.Transpose(d, 0, 1), c.out, tile*tile, -1)                 // [out, 16, tiles]
	d = transform(transposed(winogradOutput), graph.TransposeAllAxes(d, 1, 0, 2))     // [36, out, tiles]
	u := graph.DotGeneral(d, []int{2}, []int{0}, c.inputTiles(x), []int{1}, []int{0}) // [36, out, in]
	k := transform(transposed(winogradKernel), u)                                     // [9, out, in]
	return graph.Reshape(graph.TransposeAllAxes(k, 0, 2, 1), 3, 3, c.in, c.out)
}

// transform applies a one-dimensional transform to both sides of the squares along the
// leading axes of x [n·n, …] or [n, n, …].
func transform(matrix [][]float64, x *graph.Node) *graph.Node {
	to, from := len(matrix), len(matrix[0])
	square := make([][]float64, 0, to*to)
	for i := range to {
		for j := range to {
			line := make([]float64, 0, from*from)
			for k := range from {
				for l := range from {
					line = append(line, matrix[i][k]*matrix[j][l])
				}
			}
			square = append(square, line)
		}
	}
	rest := x.Shape().Dimensions[x.Rank()-2:]
	y := graph.Dot(graph.ConstAs(x, square), graph.Reshape(x, from*from, -1)).Product()
	return graph.Reshape(y, to*to, rest[0], rest[1])
}

func transposed(matrix [][]float64) [][]float64 {
	t := make([][]float64, len(matrix[0]))
	for j := range t {
		for i := range matrix {
			t[j] = append(t[j], matrix[i][j])
		}
	}
	return t
}

func (t taps) tilesAlong() int { return (t.out + tile - 1) / tile }

// tiles is the number of tiles of all images and, with one layer, a spare one of zeros:
// otherwise rows of the transposed adjoint, a power of two apart, would evict each other
// from the cache.
func (c winogradConvolution) tiles() int {
	return c.images*c.rows.tilesAlong()*c.cols.tilesAlong() + c.spare()
}

func (c winogradConvolution) spare() int {
	if c.layers == 1 {
		return 1
	}
	return 0
}

// inputTiles returns the transformed 6 x 6 windows of x [images, H, W, layers · in]:
// [36, tiles · layers, in].
func (c winogradConvolution) inputTiles(x *graph.Node) *graph.Node {
	return c.transformed.of(x, func() *graph.Node {
		return transform(winogradInput, c.squares(x, window, c.rows.before, c.cols.before))
	})
}

// squares returns the squares of size x size pixels, a tile apart, of x
// [images, H, W, layers · channels] with zeros around: [size², tiles · layers, channels].
func (c winogradConvolution) squares(x *graph.Node, size, above, left int) *graph.Node {
	d := x.Shape().Dimensions
	down, across := c.rows.tilesAlong(), c.cols.tilesAlong()
	height, width := down*tile+size-tile, across*tile+size-tile
	// The spare tile reads a line of zeros below.
	x = padAxes(x, graph.PadAxis{}, graph.PadAxis{Start: above, End: height + c.spare() - d[1] - above},
		graph.PadAxis{Start: left, End: width - d[2] - left}, graph.PadAxis{})
	at := make([]int32, 0, 3*size*size*c.tiles())
	for i := range size {
		for j := range size {
			for image := range c.images {
				for ty := range down {
					for tx := range across {
						at = append(at, int32(image), int32(ty*tile+i), int32(tx*tile+j))
					}
				}
			}
			for range c.spare() {
				at = append(at, 0, int32(height), 0)
			}
		}
	}
	// By three indices: flattening x to rows would copy it where it has other uses.
	places := graph.Const(x.Graph(), tensors.FromFlatDataAndDimensions(at, len(at)/3, 3))
	return graph.Reshape(graph.Gather(x, places), size*size, -1, d[3]/c.layers)
}

// assemble joins tiles [16, tiles · layers, out] to [images, H', W', layers · out].
func (c winogradConvolution) assemble(y *graph.Node) *graph.Node {
	down, across := c.rows.tilesAlong(), c.cols.tilesAlong()
	at := make([]int32, 0, c.images*c.rows.out*c.cols.out)
	for image := range c.images {
		for py := range c.rows.out {
			for px := range c.cols.out {
				within := py%tile*tile + px%tile
				at = append(at, int32(within*c.tiles()+(image*down+py/tile)*across+px/tile))
			}
		}
	}
	y = gatherRows(graph.Reshape(y, -1, c.layers*c.out), at)
	return graph.Reshape(y, c.images, c.rows.out, c.cols.out, c.layers*c.out)
}

func gatherRows(matrix *graph.Node, at []int32) *graph.Node {
	return graph.Gather(matrix, graph.Const(matrix.Graph(), tensors.FromFlatDataAndDimensions(at, len(at), 1)))
}

type memo map[*graph.Node]*graph.Node

func (m memo) of(x *graph.Node, make func() *graph.Node) *graph.Node {
	if _, ok := m[x]; !ok {
		m[x] = make()
	}
	return m[x]
}
