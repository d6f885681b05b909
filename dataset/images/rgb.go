package images

import (
	"image"
	"image/color"
)

// RGB is a picture of 8-bit red, green and blue. It is an image.Image.
type RGB struct {
	Width, Height int
	Pix           []uint8 // [Height, Width, 3]
}

// NewRGB returns a black picture.
func NewRGB(width, height int) *RGB {
	return &RGB{Width: width, Height: height, Pix: make([]uint8, width*height*3)}
}

// ColorModel implements image.Image.
func (p *RGB) ColorModel() color.Model { return color.RGBAModel }

// Bounds implements image.Image.
func (p *RGB) Bounds() image.Rectangle { return image.Rect(0, 0, p.Width, p.Height) }

// At implements image.Image.
func (p *RGB) At(x, y int) color.Color {
	if !(image.Point{X: x, Y: y}.In(p.Bounds())) {
		return color.RGBA{}
	}
	at := p.Pix[(y*p.Width+x)*3:]
	return color.RGBA{R: at[0], G: at[1], B: at[2], A: 255}
}

// RGBA64At implements image.RGBA64Image, which makes drawing quick.
func (p *RGB) RGBA64At(x, y int) color.RGBA64 {
	if !(image.Point{X: x, Y: y}.In(p.Bounds())) {
		return color.RGBA64{}
	}
	at := p.Pix[(y*p.Width+x)*3:]
	return color.RGBA64{R: uint16(at[0]) * 257, G: uint16(at[1]) * 257, B: uint16(at[2]) * 257, A: 0xffff}
}

// square copies the square of the given size whose corner is at (left, top)
// into dst [size, size, 3], mirrored if asked.
func (p *RGB) square(left, top, size int, mirror bool, dst []uint8) {
	for y := range size {
		start := ((top+y)*p.Width + left) * 3
		from, to := p.Pix[start:start+size*3], dst[y*size*3:(y+1)*size*3]
		if !mirror {
			copy(to, from)
			continue
		}
		for a, b := 0, len(to)-3; b >= 0; a, b = a+3, b-3 {
			to[b], to[b+1], to[b+2] = from[a], from[a+1], from[a+2]
		}
	}
}

// middle returns the part of the given size around the centre.
func (p *RGB) middle(width, height int) *RGB {
	if width == p.Width && height == p.Height {
		return p
	}
	part := NewRGB(width, height)
	left, top := (p.Width-width)/2, (p.Height-height)/2
	for y := range height {
		start := ((top+y)*p.Width + left) * 3
		copy(part.Pix[y*width*3:(y+1)*width*3], p.Pix[start:])
	}
	return part
}
