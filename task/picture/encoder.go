package picture

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/tokenizer"
)

// Encoder turns pictures of any size into codes and back, through windows of the trained size that overlap by about a
// quarter. Across an overlap the latents of two windows are blended before they are quantized, and so are decoded pixels:
// normalisation depends on the whole window, so a sudden change would be visible. A picture of the trained size gives
// exactly the codes and pixels of the runtime. An Encoder is safe for concurrent use.
type Encoder struct {
	Runtime *tokenizer.Runtime
	Options tokenizer.Options
}

// Grid is a picture as codes.
type Grid struct {
	Width, Height         int      // of the picture, in pixels
	GridWidth, GridHeight int      // in cells
	Codes                 []uint32 // [GridHeight, GridWidth, Positions]
}

// Positions is the number of codes of a cell.
func (g Grid) Positions() int { return len(g.Codes) / max(1, g.GridWidth*g.GridHeight) }

func (g Grid) cells() tokenizer.Cells {
	return tokenizer.Cells{N: 1, Height: g.GridHeight, Width: g.GridWidth}
}

// windowPixels bounds the pixels that the engine gets at once.
const windowPixels = 1 << 24

type cover struct {
	image tokenizer.Image
	x, y  axis
}

// cover lays windows over a picture of width x height pixels.
func (e Encoder) cover(width, height int) (cover, error) {
	c := cover{image: e.Runtime.Tokenizer().Spec.Model.Image}
	if err := e.Runtime.Tokenizer().Expect(dataset.Pictures); err != nil {
		return c, err
	}
	if width < 1 || height < 1 {
		return c, fmt.Errorf("a picture of %d x %d pixels has nothing to encode", width, height)
	}
	cell := c.image.Down()
	c.x = newAxis((width-1)/cell+1, c.image.Grid())
	c.y = newAxis((height-1)/cell+1, c.image.Grid())
	return c, nil
}

// bands calls visit for runs of window rows that fit windowPixels.
func (c cover) bands(visit func(first, last int) error) error {
	most := max(1, windowPixels/(c.image.Size*c.image.Size))
	rows := max(1, most/len(c.x.starts))
	for first := 0; first < len(c.y.starts); first += rows {
		if err := visit(first, min(first+rows, len(c.y.starts))); err != nil {
			return err
		}
	}
	return nil
}

// Encode returns the codes of a picture. The border is repeated to whole cells and at least one window.
func (e Encoder) Encode(ctx context.Context, p *images.RGB) (Grid, error) {
	c, err := e.cover(p.Width, p.Height)
	if err != nil {
		return Grid{}, err
	}
	if len(p.Pix) != p.Width*p.Height*3 {
		return Grid{}, fmt.Errorf("%d samples are no picture of %d x %d pixels", len(p.Pix), p.Width, p.Height)
	}
	g := Grid{Width: p.Width, Height: p.Height, GridWidth: c.x.cells, GridHeight: c.y.cells}
	dim := e.Runtime.Tokenizer().Dim()
	what := fmt.Sprintf("a picture of %d x %d cells of %d numbers", g.GridWidth, g.GridHeight, dim)
	if err := memory.Check(what, g.GridHeight*g.GridWidth, dim, 4); err != nil {
		return Grid{}, err
	}
	latents := make([]float32, g.GridHeight*g.GridWidth*dim)
	across, down := c.x.feather(1), c.y.feather(1)
	err = c.bands(func(first, last int) error {
		n := (last - first) * len(c.x.starts)
		z, err := e.Runtime.Latents(ctx, dataset.PictureBatch(c.cut(p, first, last), n))
		if err != nil {
			return err
		}
		for i := range n {
			row, column := first+i/len(c.x.starts), i%len(c.x.starts)
			c.mix(latents, z[i*len(z)/n:(i+1)*len(z)/n], row, column, down[row], across[column])
		}
		return nil
	})
	if err != nil {
		return Grid{}, err
	}
	if g.Codes, err = e.Runtime.Assign(ctx, latents, g.cells(), e.Options); err != nil {
		return Grid{}, err
	}
	return g, nil
}

// cut returns the windows [n, size, size, 3] of the rows first to last.
func (c cover) cut(p *images.RGB, first, last int) []uint8 {
	size, cell := c.image.Size, c.image.Down()
	windows := make([]uint8, 0, (last-first)*len(c.x.starts)*size*size*3)
	for _, top := range c.y.starts[first:last] {
		for _, left := range c.x.starts {
			for y := top * cell; y < top*cell+size; y++ {
				line := p.Pix[min(y, p.Height-1)*p.Width*3:][:p.Width*3]
				inside := line[min(left*cell, p.Width)*3 : min(left*cell+size, p.Width)*3]
				windows = append(windows, inside...)
				for x := len(inside) / 3; x < size; x++ { // repeat the border
					windows = append(windows, line[len(line)-3:]...)
				}
			}
		}
	}
	return windows
}

// mix adds the weighted latents z [window, window, dim] of one window to the picture's latents.
func (c cover) mix(latents, z []float32, row, column int, down, across []float32) {
	window, top, left := c.x.window, c.y.starts[row], c.x.starts[column]
	dim := len(z) / (window * window)
	for y := range min(window, c.y.cells-top) {
		for x := range min(window, c.x.cells-left) {
			weight := down[y] * across[x]
			sum := latents[((top+y)*c.x.cells+left+x)*dim:][:dim]
			for i, v := range z[(y*window+x)*dim:][:dim] {
				sum[i] += weight * v
			}
		}
	}
}

// axis lays windows of the trained size over one side of a picture, in cells of codes.
type axis struct {
	cells  int   // of the picture
	padded int   // cells covered: at least one window
	window int   // cells of a window
	starts []int // first cell of every window, ascending
}

// newAxis spreads the fewest windows that overlap by a quarter evenly from the first cell to the last.
func newAxis(cells, window int) axis {
	a := axis{cells: cells, padded: max(cells, window), window: window}
	stride := window - window/4
	if window > 1 && stride == window { // small windows overlap by one cell
		stride--
	}
	rest := a.padded - window
	count := (rest+stride-1)/stride + 1
	for i := range count {
		a.starts = append(a.starts, i*rest/max(count-1, 1))
	}
	return a
}

// feather returns the weights [window*scale] of every window: of cells at scale 1, or of their pixels. Across an overlap
// one window fades out linearly as the next fades in; the weights in a place add up to 1.
func (a axis) feather(scale int) [][]float32 {
	side := a.window * scale
	sums := make([]float32, a.padded*scale)
	weights := make([][]float32, len(a.starts))
	for i, start := range a.starts {
		weights[i] = make([]float32, side)
		for x := range weights[i] {
			weight := float32(1)
			if i > 0 {
				overlap := (a.starts[i-1] + a.window - start) * scale
				weight = min(weight, (float32(x)+0.5)/float32(overlap))
			}
			if i < len(a.starts)-1 {
				overlap := (start + a.window - a.starts[i+1]) * scale
				weight = min(weight, (float32(side-x)-0.5)/float32(overlap))
			}
			weights[i][x] = weight
			sums[start*scale+x] += weight
		}
	}
	for i, start := range a.starts {
		for x := range weights[i] {
			weights[i][x] /= sums[start*scale+x]
		}
	}
	return weights
}
