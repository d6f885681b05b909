package images

import (
	"image"
	"image/color"
)

// toRGB converts a decoded picture; transparent pixels show white.
func toRGB(m image.Image, matrix *colourMatrix) *RGB {
	bounds := m.Bounds()
	switch m := m.(type) {
	case *image.YCbCr:
		return fromYCbCr(m, matrix)
	case *image.NYCbCrA:
		p := fromYCbCr(&m.YCbCr, matrix)
		for i := range p.Width * p.Height {
			alpha := m.A[m.AOffset(bounds.Min.X+i%p.Width, bounds.Min.Y+i/p.Width)]
			overWhite(p.Pix[i*3:i*3+3], alpha)
		}
		return p
	case *image.RGBA:
		return fromFourBytes(m.Pix, m.Stride, bounds, func(pixel []uint8, alpha uint8) {
			for c := range pixel { // premultiplied already
				pixel[c] += 255 - alpha
			}
		})
	case *image.NRGBA:
		return fromFourBytes(m.Pix, m.Stride, bounds, overWhite)
	case *image.Gray:
		p := NewRGB(bounds.Dx(), bounds.Dy())
		for i := range p.Width * p.Height {
			v := m.Pix[i/p.Width*m.Stride+i%p.Width]
			p.Pix[i*3], p.Pix[i*3+1], p.Pix[i*3+2] = v, v, v
		}
		return p
	case *image.Paletted:
		colours := make([][3]uint8, 256) // an index beyond the palette shows black
		for i, c := range m.Palette {
			colours[i] = solid(color.RGBA64Model.Convert(c).(color.RGBA64))
		}
		p := NewRGB(bounds.Dx(), bounds.Dy())
		for i := range p.Width * p.Height {
			copy(p.Pix[i*3:], colours[m.Pix[i/p.Width*m.Stride+i%p.Width]][:])
		}
		return p
	}
	return fromAny(m.(image.RGBA64Image)) // 16 bits and CMYK
}

// fromAny converts pixel by pixel, through 16 bits.
func fromAny(m image.RGBA64Image) *RGB {
	bounds := m.Bounds()
	p := NewRGB(bounds.Dx(), bounds.Dy())
	for i := range p.Width * p.Height {
		colour := solid(m.RGBA64At(bounds.Min.X+i%p.Width, bounds.Min.Y+i/p.Width))
		copy(p.Pix[i*3:], colour[:])
	}
	return p
}

// fromFourBytes converts pixels of red, green, blue and alpha.
func fromFourBytes(pix []uint8, stride int, bounds image.Rectangle, blend func(pixel []uint8, alpha uint8)) *RGB {
	p := NewRGB(bounds.Dx(), bounds.Dy())
	for y := range p.Height {
		from, to := pix[y*stride:], p.Pix[y*p.Width*3:]
		for x := range p.Width {
			pixel := to[x*3 : x*3+3]
			copy(pixel, from[x*4:x*4+3])
			if alpha := from[x*4+3]; alpha != 255 {
				blend(pixel, alpha)
			}
		}
	}
	return p
}

// overWhite lays a pixel of the given opacity over white.
func overWhite(pixel []uint8, alpha uint8) {
	for c, v := range pixel {
		pixel[c] = uint8((uint32(v)*uint32(alpha) + 255*(255-uint32(alpha)) + 127) / 255)
	}
}

// solid lays a premultiplied 16-bit colour over white and rounds it to 8 bits.
func solid(c color.RGBA64) [3]uint8 {
	white := 0xffff - uint32(c.A)
	eight := func(v uint16) uint8 { return uint8((uint32(v) + white + 128) / 257) }
	return [3]uint8{eight(c.R), eight(c.G), eight(c.B)}
}
