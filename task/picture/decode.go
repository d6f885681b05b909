package picture

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/memory"
)

// Decode returns the picture of a grid of codes. A grid below one window repeats its border.
func (e Encoder) Decode(ctx context.Context, g Grid) (*images.RGB, error) {
	c, err := e.cover(g.Width, g.Height)
	if err != nil {
		return nil, err
	}
	if g.GridWidth != c.x.cells || g.GridHeight != c.y.cells {
		return nil, fmt.Errorf("a picture of %d x %d pixels is a grid of %d x %d codes for this tokenizer, not %d x %d; "+
			"use the one that encoded it",
			g.Width, g.Height, c.x.cells, c.y.cells, g.GridWidth, g.GridHeight)
	}
	positions := g.Positions()
	if positions < 1 || len(g.Codes) != g.GridWidth*g.GridHeight*positions {
		return nil, fmt.Errorf("%d codes do not fill a grid of %d x %d", len(g.Codes), g.GridWidth, g.GridHeight)
	}
	pixels, latents := 3*g.Width*g.Height, 4*e.Runtime.Tokenizer().Dim()*g.cells().Len()
	if err := memory.Check(fmt.Sprintf("a picture of %d x %d pixels", g.Width, g.Height), pixels+latents); err != nil {
		return nil, err
	}
	// Codes are looked up in the whole grid: a cell's may depend on those around it.
	found, err := e.Runtime.LookUp(ctx, g.Codes, g.cells(), positions)
	if err != nil {
		return nil, err
	}
	blend := newBlender(c, g.Width, g.Height)
	err = c.bands(func(first, last int) error {
		n := (last - first) * len(c.x.starts)
		windows, err := e.Runtime.Reconstruct(ctx, c.windowLatents(found, first, last), n)
		if err != nil {
			return err
		}
		each := len(windows.Pixels) / (last - first)
		for row := first; row < last; row++ {
			blend.add(row, windows.Pixels[(row-first)*each:(row-first+1)*each])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return blend.picture, nil
}

// windowLatents cuts the rows of windows first to last [n, window, window, dim] out of a picture's latents.
func (c cover) windowLatents(latents []float32, first, last int) []float32 {
	window, dim := c.x.window, len(latents)/(c.x.cells*c.y.cells)
	cut := make([]float32, 0, (last-first)*len(c.x.starts)*window*window*dim)
	for _, top := range c.y.starts[first:last] {
		for _, left := range c.x.starts {
			for y := top; y < top+window; y++ {
				for x := left; x < left+window; x++ {
					cell := min(y, c.y.cells-1)*c.x.cells + min(x, c.x.cells-1)
					cut = append(cut, latents[cell*dim:(cell+1)*dim]...)
				}
			}
		}
	}
	return cut
}

// blender joins rows of decoded windows. It keeps the sums of one row: lines above the next row are finished.
type blender struct {
	cover
	picture *images.RGB
	across  [][]float32 // weights of the windows of a row
	down    [][]float32 // weights of the rows of windows
	sums    []float32   // [size, width of the padded picture, 3]
}

func newBlender(c cover, width, height int) *blender {
	cell := c.image.Down()
	return &blender{
		cover: c, picture: images.NewRGB(width, height),
		across: c.x.feather(cell), down: c.y.feather(cell),
		sums: make([]float32, c.image.Size*c.x.padded*cell*3),
	}
}

// add takes the windows [n, size, size, 3] of a row. Rows come in order.
func (b *blender) add(row int, windows []uint8) {
	size, cell := b.image.Size, b.image.Down()
	stride := b.x.padded * cell * 3
	for column, left := range b.x.starts {
		window := windows[column*size*size*3:]
		for y, down := range b.down[row] {
			line := b.sums[y*stride+left*cell*3:][:size*3]
			for i, value := range window[y*size*3:][:size*3] {
				line[i] += down * b.across[column][i/3] * float32(value)
			}
		}
	}
	finished := size
	if row+1 < len(b.y.starts) {
		finished = (b.y.starts[row+1] - b.y.starts[row]) * cell
	}
	top := b.y.starts[row] * cell
	for y := range min(finished, b.picture.Height-top) {
		line := b.picture.Pix[(top+y)*b.picture.Width*3:][:b.picture.Width*3]
		for i := range line {
			line[i] = uint8(b.sums[y*stride+i] + 0.5)
		}
	}
	clear(b.sums[copy(b.sums, b.sums[finished*stride:]):])
}
