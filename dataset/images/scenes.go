package images

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// scenesVersion is part of the fingerprint of synthetic:scenes; it grows when
// the pictures change.
const scenesVersion = 1

// drawScene draws picture index of the family that belongs to seed, a pure
// function of its arguments (another CPU may round a pixel by a level). A
// landscape, portrait, still life, town or heap of leaves is composed at random
// and photographed: lit from one side, with the light's tint, a darker border
// and the grain of a sensor. The same picture in another size differs in detail
// alone.
func drawScene(seed uint64, index, size int) *RGB {
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(index))
	random := rand.NewChaCha8(sha256.Sum256(key[:]))
	c := newCanvas(rand.New(random), size)
	switch kind := c.Float64(); {
	case kind < 0.28:
		c.landscape()
	case kind < 0.54:
		c.portrait()
	case kind < 0.74:
		c.stillLife()
	case kind < 0.88:
		c.town()
	default:
		c.leaves()
	}
	return c.photograph()
}

// photograph turns the canvas into a picture.
func (c *canvas) photograph() *RGB {
	p := NewRGB(c.size, c.size)
	exposure, contrast := c.between(0.9, 1.25), c.between(0.95, 1.15)
	warmth := c.between(-0.04, 0.04)
	tint := colour{1 + warmth, 1, 1 - warmth}.times(exposure)
	border := c.between(0, 0.35)
	grain := c.between(0.004, 0.016)
	for i, pixel := range c.pix {
		dx, dy := float64(i%c.size)/float64(c.size)-0.5, float64(i/c.size)/float64(c.size)-0.5
		light := 1 - border*(dx*dx+dy*dy)
		word := c.Uint64()
		for channel, v := range [3]float64{pixel.r * tint.r, pixel.g * tint.g, pixel.b * tint.b} {
			// The sum of two uniform numbers is close enough to a bell.
			speck := float64(word&1023)/1023 + float64(word>>10&1023)/1023 - 1
			word >>= 20
			v = ((v-0.5)*contrast+0.5)*light + speck*grain*2.4
			p.Pix[i*3+channel] = uint8(clamp(v)*255 + 0.5)
		}
	}
	return p
}
