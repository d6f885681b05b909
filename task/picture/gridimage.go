package picture

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/task/picture/draw"
	"github.com/gritvq/gritvq/tokenizer"
)

// mostColoured is the largest vocabulary with colours by similarity; larger ones
// get colours by number.
const mostColoured = 1 << 16

// Colours returns a colour for every code of a tokenizer's first position;
// similar codes have similar colours.
func Colours(r *tokenizer.Runtime) ([]color.RGBA, error) {
	book := r.Codebooks()[0]
	if book.Shape[0] > mostColoured {
		return draw.HashedColours(book.Shape[0]), nil
	}
	return draw.CodebookColours(book.Data, book.Shape[0], book.Shape[1])
}

// first returns the codes [GridHeight, GridWidth] of the first position.
func (g Grid) first() []uint32 {
	positions := g.Positions()
	codes := make([]uint32, g.GridWidth*g.GridHeight)
	for i := range codes {
		codes[i] = g.Codes[i*positions]
	}
	return codes
}

// Map draws the codes of the first position, a pixel each.
func (g Grid) Map(colours []color.RGBA) (*image.RGBA, error) {
	return draw.CodeMap(g.first(), g.GridHeight, g.GridWidth, colours)
}

// GridImage draws pictures above their reconstructions, error maps and code maps.
// Pictures may differ in size; grids may be nil.
func GridImage(originals, reconstructions []*images.RGB, grids []Grid, colours []color.RGBA) (*image.RGBA, error) {
	if len(originals) == 0 || len(reconstructions) != len(originals) || grids != nil && len(grids) != len(originals) {
		return nil, fmt.Errorf("%d pictures, %d reconstructions and %d grids of codes cannot be drawn; give at least one, and as many of each",
			len(originals), len(reconstructions), len(grids))
	}
	above, below := asImages(originals), asImages(reconstructions)
	full, err := draw.FullError(above, below)
	if err != nil {
		return nil, err
	}
	wrong := draw.Row{Title: "error"}
	closeness := make([]string, len(originals))
	for i := range originals {
		m, err := draw.ErrorMap(above[i], below[i], full)
		if err != nil {
			return nil, err
		}
		wrong.Pictures = append(wrong.Pictures, m)
		if closeness[i], err = decibels(originals[i], reconstructions[i]); err != nil {
			return nil, err
		}
	}
	rows := []draw.Row{{Title: "original", Pictures: above}, {Title: "decoded", Pictures: below, Captions: closeness}, wrong}
	if grids != nil {
		row := draw.Row{Title: "codes"}
		for _, g := range grids {
			m, err := g.Map(colours)
			if err != nil {
				return nil, err
			}
			row.Pictures = append(row.Pictures, m)
		}
		rows = append(rows, row)
	}
	return draw.Grid(rows, draw.ErrorLegend(full, 256)), nil
}

func asImages(pictures []*images.RGB) []image.Image {
	list := make([]image.Image, len(pictures))
	for i, p := range pictures {
		list[i] = p
	}
	return list
}

// decibels words the PSNR of a reconstruction.
func decibels(a, b *images.RGB) (string, error) {
	psnr, err := eval.PSNR(a.Pix, b.Pix)
	if math.IsInf(psnr, 1) {
		return "identical", err
	}
	return fmt.Sprintf("%.1f dB", psnr), err
}
