package nn

import (
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// tilesAlong is how many tiles cover the outputs of an axis.
func (t taps) tilesAlong() int { return (t.out + tile - 1) / tile }

// tiles is the number of tiles of all images, with one of zeros where images lie
// one after the other: without it, the rows of the transposed adjoint would be a
// power of two apart, where they push each other out of the cache.
func (c winogradConvolution) tiles() int {
	return c.images*c.rows.tilesAlong()*c.cols.tilesAlong() + c.spare()
}

func (c winogradConvolution) spare() int {
	if c.layers == 1 {
		return 1
	}
	return 0
}

// inputTiles returns the transformed 6 x 6 windows of x [images, H, W,
// layers · in]: [36, tiles · layers, in].
func (c winogradConvolution) inputTiles(x *graph.Node) *graph.Node {
	return c.transformed.of(x, func() *graph.Node {
		return transform(winogradInput, c.squares(x, window, c.rows.before, c.cols.before))
	})
}

// outputTiles returns the 4 x 4 tiles of an output [images, H', W', layers · out]:
// [16, tiles · layers, out].
func (c winogradConvolution) outputTiles(y *graph.Node) *graph.Node {
	return c.squares(y, tile, 0, 0)
}

// squares returns the squares of size x size pixels, a tile apart, of x
// [images, H, W, layers · channels] with zeros around:
// [size², tiles · layers, channels].
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

// assemble puts tiles [16, tiles · layers, out] together to [images, H', W',
// layers · out].
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

// gatherRows returns the rows of a matrix at the given places.
func gatherRows(matrix *graph.Node, at []int32) *graph.Node {
	return graph.Gather(matrix, graph.Const(matrix.Graph(), tensors.FromFlatDataAndDimensions(at, len(at), 1)))
}

// memo keeps transformed nodes, so that the gradient uses them again.
type memo map[*graph.Node]*graph.Node

func (m memo) of(x *graph.Node, make func() *graph.Node) *graph.Node {
	if _, ok := m[x]; !ok {
		m[x] = make()
	}
	return m[x]
}
