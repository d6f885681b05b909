// Package draw draws the work of a tokenizer of pictures: grids of originals, reconstructions and errors, maps of codes,
// and sheets of patches that share a code.
package draw

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"unicode/utf8"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"golang.org/x/image/font"
	"golang.org/x/image/font/inconsolata"
	"golang.org/x/image/math/fixed"
)

var (
	paper  = color.RGBA{R: 252, G: 252, B: 253, A: 255}
	ink    = color.RGBA{R: 45, G: 49, B: 57, A: 255}
	faint  = color.RGBA{R: 115, G: 120, B: 130, A: 255}
	border = color.RGBA{R: 226, G: 228, B: 232, A: 255}
)

// Text is set in one size of one face, which knows ASCII and Latin-1.
const (
	lineHeight = 18
	baseline   = 13
	charWidth  = 8
)

func textWidth(line string) int { return charWidth * utf8.RuneCountInString(line) }

// text writes a line whose upper left corner is at (x, y).
func text(m draw.Image, x, y int, line string, c color.Color) {
	drawer := font.Drawer{Dst: m, Src: image.NewUniform(c), Face: inconsolata.Regular8x16, Dot: fixed.P(x, y+baseline)}
	drawer.DrawString(line)
}

func bold(m draw.Image, x, y int, line string, c color.Color) {
	drawer := font.Drawer{Dst: m, Src: image.NewUniform(c), Face: inconsolata.Bold8x16, Dot: fixed.P(x, y+baseline)}
	drawer.DrawString(line)
}

func blank(width, height int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	fillBox(m, m.Bounds(), paper)
	return m
}

func fillBox(m draw.Image, area image.Rectangle, c color.Color) {
	draw.Draw(m, area, image.NewUniform(c), image.Point{}, draw.Src)
}

// flat returns m with the origin in its corner and over white, as RGBA.
func flat(m image.Image) *image.RGBA {
	bounds := m.Bounds()
	p := image.NewRGBA(image.Rect(0, 0, bounds.Dx(), bounds.Dy()))
	fillBox(p, p.Bounds(), color.White)
	draw.Draw(p, p.Bounds(), m, bounds.Min, draw.Over)
	return p
}

// enlarged returns m with every pixel shown as a square of the given side.
func enlarged(m image.Image, side int) *image.RGBA {
	p := flat(m)
	if side <= 1 {
		return p
	}
	width, height := p.Rect.Dx(), p.Rect.Dy()
	large := image.NewRGBA(image.Rect(0, 0, width*side, height*side))
	for y := range height * side {
		row := large.Pix[y*large.Stride:]
		if y%side > 0 {
			copy(row[:large.Stride], large.Pix[(y-1)*large.Stride:])
			continue
		}
		for x := range width * side {
			copy(row[x*4:x*4+4], p.Pix[y/side*p.Stride+x/side*4:])
		}
	}
	return large
}

// WritePNG saves a picture; the file is whole or absent.
func WritePNG(path string, m image.Image) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		if err := png.Encode(w, m); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		return nil
	})
}
