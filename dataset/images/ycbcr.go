package images

import "image"

// colourMatrix turns luma and chroma into RGB, in units of 2^-16.
type colourMatrix struct {
	black                                         int32 // the luma of black
	luma, redByCr, greenByCb, greenByCr, blueByCb int32
}

var (
	// fullRange is JFIF's matrix: BT.601 with luma from 0 to 255.
	fullRange = colourMatrix{black: 0, luma: 65536, redByCr: 91881, greenByCb: 22554, greenByCr: 46802, blueByCb: 116130}
	// videoRange is WebP's matrix: BT.601 with luma from 16 to 235.
	videoRange = colourMatrix{black: 16, luma: 76309, redByCr: 104597, greenByCb: 25675, greenByCr: 53279, blueByCb: 132201}
)

// fromYCbCr converts m, whose bounds begin at the origin as decoders make them.
// Halved chroma is interpolated linearly, as libjpeg and libwebp do; image/color
// would repeat it, which shows as blocks.
func fromYCbCr(m *image.YCbCr, matrix *colourMatrix) *RGB {
	p := NewRGB(m.Bounds().Dx(), m.Bounds().Dy())
	chroma := newChromaRows(m)
	for y := range p.Height {
		luma := m.Y[y*m.YStride:][:p.Width]
		cb, cr := chroma.row(y)
		matrix.row(p.Pix[y*p.Width*3:], luma, cb, cr)
	}
	return p
}

// row fills dst [n, 3] from n values each of luma and chroma.
func (c *colourMatrix) row(dst, luma, cb, cr []uint8) {
	cb, cr = cb[:len(luma)], cr[:len(luma)]
	dst = dst[:len(luma)*3]
	for x, y := range luma {
		light := (int32(y)-c.black)*c.luma + 1<<15
		blue, red := int32(cb[x])-128, int32(cr[x])-128
		pixel := dst[x*3 : x*3+3 : x*3+3]
		pixel[0] = clampByte((light + c.redByCr*red) >> 16)
		pixel[1] = clampByte((light - c.greenByCb*blue - c.greenByCr*red) >> 16)
		pixel[2] = clampByte((light + c.blueByCb*blue) >> 16)
	}
}

func clampByte(v int32) uint8 {
	if uint32(v) > 255 {
		return uint8(^(v >> 31)) // 0 for negative values, else 255
	}
	return uint8(v)
}

// chromaRows brings the chroma of an image to full size, a row at a time.
type chromaRows struct {
	m            *image.YCbCr
	width, rows  int  // pixels in a row, rows of the chroma planes
	halfX, halfY bool // chroma is to be interpolated in x, in y
	cb, cr       []uint8
	blended      []int32 // a row of a plane, interpolated in y, times 4
}

func newChromaRows(m *image.YCbCr) *chromaRows {
	c := &chromaRows{m: m, width: m.Bounds().Dx(), rows: m.Bounds().Dy()}
	columns := c.width
	c.halfX = m.SubsampleRatio == image.YCbCrSubsampleRatio420 || m.SubsampleRatio == image.YCbCrSubsampleRatio422
	c.halfY = m.SubsampleRatio == image.YCbCrSubsampleRatio420 || m.SubsampleRatio == image.YCbCrSubsampleRatio440
	if c.halfX {
		columns = (columns + 1) / 2
	}
	if c.halfY {
		c.rows = (c.rows + 1) / 2
	}
	c.blended = make([]int32, columns)
	c.cb, c.cr = make([]uint8, c.width+1), make([]uint8, c.width+1) // pairs, also of an odd width
	return c
}

// row returns the chroma of row y, valid until the next call.
func (c *chromaRows) row(y int) (cb, cr []uint8) {
	near, far := y, y
	switch {
	case c.m.SubsampleRatio == image.YCbCrSubsampleRatio444:
		start := y * c.m.CStride
		return c.m.Cb[start : start+c.width], c.m.Cr[start : start+c.width]
	case !c.halfX && !c.halfY: // quartered, which is rare: repeat
		for x := range c.width {
			at := c.m.COffset(x, y)
			c.cb[x], c.cr[x] = c.m.Cb[at], c.m.Cr[at]
		}
		return c.cb, c.cr
	case c.halfY:
		// The centre of a chroma row lies between two rows of the picture: a
		// quarter of the value comes from the chroma row on the other side.
		near = y / 2
		far = min(max(near-1+y%2*2, 0), c.rows-1)
	}
	c.interpolate(c.m.Cb, near, far, c.cb)
	c.interpolate(c.m.Cr, near, far, c.cr)
	return c.cb, c.cr
}

// interpolate fills dst with 3/4 of plane row near and 1/4 of row far,
// stretched in x with the same weights.
func (c *chromaRows) interpolate(plane []uint8, near, far int, dst []uint8) {
	a, b := plane[near*c.m.CStride:], plane[far*c.m.CStride:]
	for i := range c.blended {
		c.blended[i] = 3*int32(a[i]) + int32(b[i])
	}
	if !c.halfX {
		for i, v := range c.blended {
			dst[i] = uint8((v + 2) >> 2)
		}
		return
	}
	last := len(c.blended) - 1
	before := c.blended[0]
	even, odd := int32(8), int32(7) // halves are rounded up and down in turn
	if !c.halfY {
		even, odd = 4, 8 // in quarters
	}
	for i, v := range c.blended {
		after := c.blended[min(i+1, last)]
		dst[2*i] = uint8((3*v + before + even) >> 4)
		dst[2*i+1] = uint8((3*v + after + odd) >> 4)
		before = v
	}
}
