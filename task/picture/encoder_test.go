package picture

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/tokenizer"
)

func encode(tb testing.TB, e Encoder, p *images.RGB) Grid {
	tb.Helper()
	g, err := e.Encode(tb.Context(), p)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func decode(tb testing.TB, e Encoder, g Grid) *images.RGB {
	tb.Helper()
	p, err := e.Decode(tb.Context(), g)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// A picture of the trained size has the runtime's own codes and pixels.
func TestOneWindowIsExact(t *testing.T) {
	for _, parts := range []int{1, 2} {
		r := untrained(t, 16, []int{8, 8}, 2, parts)
		for _, o := range []tokenizer.Options{{}, {Levels: 1}, {Beam: 3}} {
			e := Encoder{Runtime: r, Options: o}
			p := smooth(16, 16)
			g := encode(t, e, p)
			want, err := r.Encode(t.Context(), dataset.PictureBatch(p.Pix, 1), o)
			if err != nil || !slices.Equal(g.Codes, want) {
				t.Fatalf("%+v: other codes than the runtime's (%v)", o, err)
			}
			if g.Positions() != r.Positions(o) || g.GridWidth != 8 || g.GridHeight != 8 {
				t.Errorf("%+v: a grid of %d x %d x %d", o, g.GridHeight, g.GridWidth, g.Positions())
			}
			pixels, err := r.Decode(t.Context(), g.Codes, 1, g.Positions())
			if err != nil || !bytes.Equal(decode(t, e, g).Pix, pixels.Pixels) {
				t.Fatalf("%+v: other pixels than the runtime's (%v)", o, err)
			}
		}
	}
}

// reference encodes and decodes a picture window by window, with no batches and
// no strips: every latent and every pixel is summed over all windows in float64.
func reference(t *testing.T, r *tokenizer.Runtime, p *images.RGB) ([]uint32, []float64) {
	t.Helper()
	c := r.Tokenizer().Spec.Model.Image
	size, cell, window, dim := c.Size, c.Down(), c.Grid(), r.Tokenizer().Dim()
	across, down := newAxis((p.Width+cell-1)/cell, window), newAxis((p.Height+cell-1)/cell, window)
	positions := r.Positions(tokenizer.Options{})
	latents := make([]float64, across.cells*down.cells*dim)
	for row, top := range down.starts {
		for column, left := range across.starts {
			square := make([]uint8, size*size*3)
			for i := range square {
				x, y := min(left*cell+i/3%size, p.Width-1), min(top*cell+i/3/size, p.Height-1)
				square[i] = p.Pix[(y*p.Width+x)*3+i%3]
			}
			z, err := r.Latents(t.Context(), dataset.PictureBatch(square, 1))
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range z {
				x, y := i/dim%window, i/dim/window
				if left+x < across.cells && top+y < down.cells {
					share := float64(across.feather(1)[column][x]) * float64(down.feather(1)[row][y])
					latents[((top+y)*across.cells+left+x)*dim+i%dim] += share * float64(v)
				}
			}
		}
	}
	rounded := make([]float32, len(latents))
	for i, v := range latents {
		rounded[i] = float32(v)
	}
	codes, err := r.Assign(t.Context(), rounded, tokenizer.Cells{N: 1, Height: down.cells, Width: across.cells}, tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sums := make([]float64, p.Width*p.Height*3)
	for row, top := range down.starts {
		for column, left := range across.starts {
			var inside []uint32
			for i := range window * window {
				x, y := min(left+i%window, across.cells-1), min(top+i/window, down.cells-1)
				inside = append(inside, codes[(y*across.cells+x)*positions:][:positions]...)
			}
			square, err := r.Decode(t.Context(), inside, 1, positions)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range square.Pixels {
				x, y := i/3%size, i/3/size
				if left*cell+x < p.Width && top*cell+y < p.Height {
					share := float64(across.feather(cell)[column][x]) * float64(down.feather(cell)[row][y])
					sums[((top*cell+y)*p.Width+left*cell+x)*3+i%3] += share * float64(v)
				}
			}
		}
	}
	return codes, sums
}

// Every size from a pixel to three windows gives a grid of the promised shape
// and a picture of the same size, equal to the plain loops above.
func TestAllSizes(t *testing.T) {
	r := untrained(t, 16, []int{8, 8, 8}, 1, 1)
	e := Encoder{Runtime: r}
	sizes := [][2]int{{1, 1}, {1, 48}, {48, 1}, {16, 17}, {47, 33}}
	for side := 1; side <= 48; side += 7 {
		sizes = append(sizes, [2]int{side, 49 - side}, [2]int{48, side})
	}
	for i, s := range sizes {
		p := smooth(s[0], s[1])
		g := encode(t, e, p)
		if g.Width != s[0] || g.Height != s[1] || g.GridWidth != (s[0]+3)/4 || g.GridHeight != (s[1]+3)/4 ||
			len(g.Codes) != g.GridWidth*g.GridHeight {
			t.Fatalf("%v pixels become %+v", s, g)
		}
		back := decode(t, e, g)
		if back.Width != s[0] || back.Height != s[1] {
			t.Fatalf("%v pixels come back as %d x %d", s, back.Width, back.Height)
		}
		if i%4 > 0 && i > 4 {
			continue // the loops are slow
		}
		codes, sums := reference(t, r, p)
		if !slices.Equal(g.Codes, codes) {
			t.Errorf("%v pixels have other codes than window by window", s)
		}
		for i, v := range back.Pix {
			if math.Abs(sums[i]-float64(v)) > 0.501 {
				t.Fatalf("%v: sample %d is %d, %g window by window", s, i, v, sums[i])
			}
		}
	}
}

// Encoding windows band by band equals encoding all windows at once.
func TestBands(t *testing.T) {
	r := untrained(t, 16, []int{8, 8}, 1, 1)
	c, err := Encoder{Runtime: r}.cover(16*300, 16*300)
	if err != nil {
		t.Fatal(err)
	}
	var bands [][2]int
	if err := c.bands(func(first, last int) error { bands = append(bands, [2]int{first, last}); return nil }); err != nil {
		t.Fatal(err)
	}
	next, most := 0, windowPixels/(16*16)
	for _, b := range bands {
		if b[0] != next || b[1] <= b[0] || (b[1]-b[0])*len(c.x.starts) > most {
			t.Fatalf("bands %v of %d x %d windows", bands, len(c.y.starts), len(c.x.starts))
		}
		next = b[1]
	}
	if next != len(c.y.starts) || len(bands) < 2 {
		t.Errorf("bands %v of %d rows", bands, len(c.y.starts))
	}
	// The parts of a picture do not depend on the bands they come in.
	p := smooth(40, 56)
	small, err := Encoder{Runtime: r}.cover(p.Width, p.Height)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []uint8
	for row := range small.y.starts {
		pieces = append(pieces, small.cut(p, row, row+1)...)
	}
	if !bytes.Equal(pieces, small.cut(p, 0, len(small.y.starts))) {
		t.Error("windows differ from band to band")
	}
}

// On a smooth picture the decoded one changes at the borders of windows, and in
// the middle of their overlaps, as it does where other cells meet. Windows side
// by side show in the same measure.
func TestNoSeams(t *testing.T) {
	e := Encoder{Runtime: untrained(t, 32, []int{8, 8, 8}, 1, 1)}
	const side = 304
	g := encode(t, e, smooth(side, side))
	c, err := e.cover(side, side)
	if err != nil {
		t.Fatal(err)
	}
	cell := c.image.Down()
	kind := map[int]string{} // of the places where cells meet
	for i, start := range c.x.starts[1:] {
		end := c.x.starts[i] + c.x.window
		kind[start*cell], kind[end*cell], kind[(start+end)/2*cell] = "border", "border", "middle"
	}
	steps := func(p *images.RGB) map[string]float64 {
		sums, counts := map[string]float64{}, map[string]float64{}
		for x := cell; x < side; x += cell {
			for y := range side { // down and across
				sums[kind[x]] += difference(p, x, y, x-1, y) + difference(p, y, x, y, x-1)
				counts[kind[x]]++
			}
		}
		for k := range sums {
			sums[k] /= counts[k]
		}
		return sums
	}
	blended := steps(decode(t, e, g))
	for _, k := range []string{"border", "middle"} {
		if blended[k] > 1.15*blended[""] {
			t.Errorf("steps of %.2f levels at the %s of overlaps, %.2f elsewhere", blended[k], k, blended[""])
		}
	}
	if hard := steps(joined(t, e, c, g)); hard["middle"] < 1.4*hard[""] {
		t.Errorf("windows side by side have steps of %.2f levels, %.2f elsewhere: this test would miss seams", hard["middle"], hard[""])
	}
}

// joined decodes a grid without blending: overlaps are cut in the middle.
func joined(t *testing.T, e Encoder, c cover, g Grid) *images.RGB {
	t.Helper()
	b := newBlender(c, g.Width, g.Height)
	for _, shares := range [][][]float32{b.across, b.down} {
		for _, window := range shares {
			for x := range window {
				window[x] = float32(math.Round(float64(window[x])))
			}
		}
	}
	latents, err := e.Runtime.LookUp(t.Context(), g.Codes, g.cells(), g.Positions())
	if err != nil {
		t.Fatal(err)
	}
	for row := range c.y.starts {
		windows, err := e.Runtime.Reconstruct(t.Context(), c.windowLatents(latents, row, row+1), len(c.x.starts))
		if err != nil {
			t.Fatal(err)
		}
		b.add(row, windows.Pixels)
	}
	return b.picture
}

// difference is the mean absolute difference of two pixels.
func difference(p *images.RGB, x, y, toX, toY int) float64 {
	sum := 0.0
	for c := range 3 {
		sum += math.Abs(float64(p.Pix[(y*p.Width+x)*3+c])-float64(p.Pix[(toY*p.Width+toX)*3+c])) / 3
	}
	return sum
}

func TestEncoderErrors(t *testing.T) {
	e := Encoder{Runtime: untrained(t, 16, []int{8, 8}, 1, 1)}
	ctx := t.Context()
	good := encode(t, e, smooth(20, 9))
	failed := func(_ any, err error) error { return err }
	spoiled := func(spoil func(*Grid)) error {
		g := good
		g.Codes = slices.Clone(g.Codes)
		spoil(&g)
		return failed(e.Decode(ctx, g))
	}
	for want, err := range map[string]error{
		"0 x 5 pixels has nothing":                   failed(e.Encode(ctx, images.NewRGB(0, 5))),
		"12 samples are no picture of 3 x 3":         failed(e.Encode(ctx, &images.RGB{Width: 3, Height: 3, Pix: make([]uint8, 12)})),
		"is a grid of 10 x 5 codes for this token":   spoiled(func(g *Grid) { g.GridWidth = 11 }),
		"49 codes do not fill a grid of 10 x 5":      spoiled(func(g *Grid) { g.Codes = g.Codes[1:] }),
		"-1 x 9 pixels has nothing":                  spoiled(func(g *Grid) { g.Width = -1 }),
		"holds code 24 where the tokenizer has 24":   spoiled(func(g *Grid) { g.Codes[7] = 24 }),
		"2 codes a vector do not fit this tokenizer": spoiled(func(g *Grid) { g.Codes = append(g.Codes, g.Codes...) }),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := e.Encode(ended, smooth(20, 9)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled encoding: %v", err)
	}
}

// Windows begin and end with the cells and overlap by a quarter at least, up to
// rounding.
func TestWindowsCoverTheCells(t *testing.T) {
	for window := 1; window <= 17; window++ {
		for cells := 1; cells <= 4*window+3; cells++ {
			a := newAxis(cells, window)
			if a.cells != cells || a.padded != max(cells, window) || a.starts[0] != 0 || a.starts[len(a.starts)-1]+window != a.padded {
				t.Fatalf("%d cells, window %d: %+v", cells, window, a)
			}
			for i := range len(a.starts) - 1 {
				overlap := a.starts[i] + window - a.starts[i+1]
				if window > 1 && 4*overlap < window-3 || overlap >= window || window > 1 && overlap < 1 {
					t.Fatalf("%d cells, window %d: windows at %v overlap by %d", cells, window, a.starts, overlap)
				}
			}
		}
	}
}

// A quarter of overlap takes about 4/3 of the windows that none would.
func TestWindowsAreFew(t *testing.T) {
	for cells, want := range map[int]int{1: 1, 16: 1, 17: 2, 28: 2, 29: 3, 96: 8, 64: 5} {
		if a := newAxis(cells, 16); len(a.starts) != want {
			t.Errorf("%d cells take %d windows of 16, want %d", cells, len(a.starts), want)
		}
	}
}

// The shares of a pixel add up to 1 and change from pixel to pixel by no more
// than the steepest of the ramps.
func TestFeather(t *testing.T) {
	for _, size := range [][2]int{{1, 4}, {4, 4}, {5, 4}, {9, 4}, {13, 8}, {21, 8}, {3, 1}, {7, 2}} {
		a := newAxis(size[0], size[1])
		const scale = 4
		sums := make([]float64, a.padded*scale)
		for i, shares := range a.feather(scale) {
			for x, share := range shares {
				sums[a.starts[i]*scale+x] += float64(share)
				if x > 0 && a.window > 1 && math.Abs(float64(share-shares[x-1])) > 1.01/scale {
					t.Errorf("%v: window %d changes from %g to %g at pixel %d", size, i, shares[x-1], share, x)
				}
			}
		}
		for x, sum := range sums {
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("%v: the shares of pixel %d add up to %g", size, x, sum)
			}
		}
	}
	// Two windows of 8 pixels that share 4: eighths, by hand.
	shares := axis{cells: 12, padded: 12, window: 8, starts: []int{0, 4}}.feather(1)
	if want := []float32{1, 1, 1, 1, 0.875, 0.625, 0.375, 0.125}; !slices.Equal(shares[0], want) {
		t.Errorf("first window %v, want %v", shares[0], want)
	}
	if want := []float32{0.125, 0.375, 0.625, 0.875, 1, 1, 1, 1}; !slices.Equal(shares[1], want) {
		t.Errorf("second window %v, want %v", shares[1], want)
	}
}
