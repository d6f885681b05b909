package nn

import (
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// tilesAlong is how many tiles cover the outputs of an axis.
func (t taps) tilesAlong() int { return (t.out + tile - 1) / tile }

// tiles is the number of tiles of all images, and one of zeros. Without the
// last, the rows of the transposed adjoint would lie a power of two apart, where
// they push each other out of the cache.
func (c winogradConvolution) tiles() int {
	return c.batch*c.rows.tilesAlong()*c.cols.tilesAlong() + 1
}

// inputTiles returns the transformed 6 x 6 windows of x [B, H, W, in]:
// [36, tiles, in].
func (c winogradConvolution) inputTiles(x *graph.Node) *graph.Node {
	return c.transformed.of(x, func() *graph.Node {
		return transform(winogradInput, c.squares(x, window, c.rows.before, c.cols.before))
	})
}

// outputTiles returns the 4 x 4 tiles of an output [B, H', W', out]:
// [16, tiles, out].
func (c winogradConvolution) outputTiles(y *graph.Node) *graph.Node {
	return c.squares(y, tile, 0, 0)
}

// squares returns the squares of size x size pixels, a tile apart, of x
// [B, H, W, channels] with zeros around: [size², tiles, channels].
func (c winogradConvolution) squares(x *graph.Node, size, above, left int) *graph.Node {
	d := x.Shape().Dimensions
	down, across := c.rows.tilesAlong(), c.cols.tilesAlong()
	height, width := down*tile+size-tile, across*tile+size-tile
	x = padAxes(x, graph.PadAxis{End: 1}, graph.PadAxis{Start: above, End: height - d[1] - above},
		graph.PadAxis{Start: left, End: width - d[2] - left}, graph.PadAxis{})
	at := make([]int32, 0, size*size*c.tiles())
	for i := range size {
		for j := range size {
			for b := range c.batch {
				for ty := range down {
					for tx := range across {
						at = append(at, int32((b*height+ty*tile+i)*width+tx*tile+j))
					}
				}
			}
			at = append(at, int32(c.batch*height*width))
		}
	}
	return graph.Reshape(gatherRows(graph.Reshape(x, -1, d[3]), at), size*size, c.tiles(), d[3])
}

// assemble puts tiles [16, tiles, out] together to [B, H', W', out].
func (c winogradConvolution) assemble(y *graph.Node) *graph.Node {
	down, across := c.rows.tilesAlong(), c.cols.tilesAlong()
	at := make([]int32, 0, c.batch*c.rows.out*c.cols.out)
	for b := range c.batch {
		for py := range c.rows.out {
			for px := range c.cols.out {
				within := py%tile*tile + px%tile
				at = append(at, int32(within*c.tiles()+(b*down+py/tile)*across+px/tile))
			}
		}
	}
	return graph.Reshape(gatherRows(graph.Reshape(y, -1, c.out), at), c.batch, c.rows.out, c.cols.out, c.out)
}

// gatherRows returns the rows of a matrix at the given places.
func gatherRows(matrix *graph.Node, at []int32) *graph.Node {
	return graph.Gather(matrix, graph.Const(matrix.Graph(), tensors.FromFlatDataAndDimensions(at, len(at), 1)))
}

// memo remembers what was made of a node, so that the gradient uses it again.
type memo map[*graph.Node]*graph.Node

func (m memo) of(x *graph.Node, make func() *graph.Node) *graph.Node {
	if _, ok := m[x]; !ok {
		m[x] = make()
	}
	return m[x]
}
