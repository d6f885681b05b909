package images

import "math"

var (
	skins    = []colour{{0.96, 0.80, 0.69}, {0.91, 0.72, 0.58}, {0.80, 0.58, 0.43}, {0.62, 0.42, 0.29}, {0.42, 0.28, 0.20}}
	hairs    = []colour{{0.10, 0.08, 0.07}, {0.25, 0.16, 0.10}, {0.45, 0.28, 0.14}, {0.80, 0.65, 0.38}, {0.55, 0.22, 0.10}, {0.70, 0.69, 0.68}}
	irises   = []colour{{0.25, 0.15, 0.08}, {0.30, 0.42, 0.25}, {0.30, 0.48, 0.66}}
	garments = []colour{{0.15, 0.20, 0.35}, {0.65, 0.15, 0.15}, {0.85, 0.83, 0.78}, {0.15, 0.15, 0.17}, {0.25, 0.42, 0.30},
		{0.75, 0.60, 0.25}, {0.50, 0.40, 0.60}}
)

// head is a face's place and measures: every feature is set relative to it.
type head struct {
	centre point
	size   float64 // half the height of the face
	axis   point   // where the face's right is, on screen
	look   point   // how far it is turned, in units of size
	light  point   // where the light comes from
	skin   colour
	mottle *noise
}

// at places a feature: x to the side and y down, in units of the face's size.
func (h *head) at(x, y float64) point {
	x, y = (x+h.look.x*(1-x*x))*h.size, (y+h.look.y)*h.size
	return point{h.centre.x + x*h.axis.x - y*h.axis.y, h.centre.y + x*h.axis.y + y*h.axis.x}
}

// part is an ellipse at such a place.
func (h *head) part(x, y, a, b float64) ellipse {
	return ellipse{centre: h.at(x, y), a: a * h.size, b: b * h.size, axis: h.axis}
}

// shade lights a rounded surface at local point q.
func (h *head) shade(base colour, p, q point) colour {
	front := math.Sqrt(max(0, 1-0.8*(q.x*q.x+q.y*q.y)))
	lit := 0.62 + 0.38*front + 0.22*(q.x*h.light.x+q.y*h.light.y)
	warm := colour{1, 0.9, 0.82} // shadows on skin are red
	return mix(base.times(lit), base, 0.1).times(1+0.05*h.mottle.at(p)).tinted(warm, 1-lit)
}

// portrait is a head and shoulders before a soft background.
func (c *canvas) portrait() {
	c.backdrop()
	h := &head{
		centre: point{c.between(0.42, 0.58), c.between(0.42, 0.52)},
		size:   c.between(0.26, 0.36),
		axis:   c.direction(0.22),
		look:   point{c.between(-0.14, 0.14), c.between(-0.06, 0.06)},
		light:  point{c.between(-1, 1), c.between(-0.9, -0.2)},
		skin:   c.vary(skins[c.IntN(len(skins))], 0.04),
		mottle: c.noise(8, 3),
	}
	hair := c.vary(hairs[c.IntN(len(hairs))], 0.04)
	long := c.chance(0.5)
	strands := c.strands(h, hair)
	if long {
		c.ellipse(h.part(0, 0.25, 0.95, 1.35), strands)
	}
	c.shoulders(h)
	c.ellipse(h.part(0, -0.12, 0.90, 1.08), strands)
	for _, side := range []float64{-1, 1} {
		c.ellipse(h.part(side*0.76, 0.08, 0.12, 0.2), func(p, q point) colour { return h.shade(h.skin.times(0.9), p, q) })
	}
	c.ellipse(h.part(0, 0, 0.76, 1), func(p, q point) colour { return h.shade(h.skin, p, q) })
	c.features(h, hair)
	c.fringe(h, strands)
}

// backdrop is a gradient with blurred lights or a plain wall.
func (c *canvas) backdrop() {
	a := c.vary(colour{0.45, 0.47, 0.48}, 0.35)
	b := c.vary(a, 0.25)
	n, axis := c.noise(2, 3), c.direction(math.Pi)
	c.fill(func(p point) colour {
		return mix(a, b, 0.5+0.6*((p.x-0.5)*axis.x+(p.y-0.5)*axis.y)+0.4*n.at(p))
	})
	for range c.IntN(10) {
		spot := ellipse{centre: point{c.Float64(), c.Float64()}}
		spot.a = c.between(0.05, 0.18)
		spot.b = spot.a
		c.glow(spot, c.vary(b, 0.35), c.between(0.3, 0.8))
	}
}

// strands colours hair, streaked from the crown downwards.
func (c *canvas) strands(h *head, hair colour) func(p, q point) colour {
	n := c.noise(3, 3)
	frequency := c.between(5, 9)
	return func(p, q point) colour {
		streak := wave(q.x*frequency + 1.4*n.at(p))
		shine := max(0, 1-6*math.Abs(q.y+0.55-0.2*q.x*h.light.x))
		return hair.times(0.85 + 0.11*streak + 0.55*shine + 0.2*(q.x*h.light.x))
	}
}

// shoulders are a neck and a garment.
func (c *canvas) shoulders(h *head) {
	c.polygon([]point{h.at(-0.36, 0.5), h.at(0.36, 0.5), h.at(0.44, 1.7), h.at(-0.44, 1.7)}, func(p point) colour {
		return h.skin.times(0.72 + 0.2*(p.x-h.centre.x)/h.size*h.light.x)
	})
	cloth, weave := c.vary(garments[c.IntN(len(garments))], 0.06), c.texture()
	throat := h.at(0, 1.3)
	body := ellipse{centre: point{throat.x, throat.y + 0.95*h.size}, a: c.between(1.5, 1.9) * h.size, b: c.between(0.9, 1.05) * h.size}
	c.ellipse(body, func(p, q point) colour {
		return cloth.times(0.8 + 0.25*(q.x*h.light.x-q.y*0.5) + 0.3*weave(p))
	})
	collar := ellipse{centre: throat, a: h.size * 0.46, b: h.size * c.between(0.15, 0.4)}
	c.ellipse(collar, func(_, q point) colour { return h.skin.times(0.72 + 0.1*q.y + 0.12*q.x*h.light.x) })
	c.glow(h.part(0, 0.95, 0.5, 0.3), h.skin.times(0.35), 0.8) // the chin's shadow
}

// features are eyes, brows, nose, mouth and cheeks.
func (c *canvas) features(h *head, hair colour) {
	eyeY, apart, open := c.between(-0.16, -0.04), c.between(0.3, 0.36), c.between(0.06, 0.1)
	iris, brow := c.vary(irises[c.IntN(len(irises))], 0.05), mix(hair.times(0.8), h.skin, 0.2)
	lips := mix(c.vary(colour{0.72, 0.30, 0.30}, 0.08), h.skin, c.between(0.1, 0.6))
	raised := c.between(0.16, 0.24)
	for _, side := range []float64{-1, 1} {
		c.glow(h.part(side*apart, eyeY-0.02, 0.26, 0.2), h.skin.times(0.55), 0.6)
		c.ellipse(h.part(side*apart, eyeY, 0.155, open), func(_, q point) colour { return colour{0.93, 0.92, 0.9}.times(0.9 + 0.1*q.y) })
		c.ellipse(h.part(side*apart+h.look.x*0.3, eyeY, 0.075, min(open, 0.08)), func(_, q point) colour { return iris.times(0.8 + 0.4*q.y) })
		c.ellipse(h.part(side*apart+h.look.x*0.3, eyeY, 0.035, 0.037), func(_, _ point) colour { return colour{0.03, 0.03, 0.03} })
		c.ellipse(h.part(side*apart+h.light.x*0.03, eyeY-0.03, 0.018, 0.018), func(_, _ point) colour { return colour{1, 1, 1} })
		c.ellipse(h.part(side*apart, eyeY-open, 0.17, 0.022), func(_, _ point) colour { return hair.times(0.4) })
		c.ellipse(h.part(side*(apart+0.02), eyeY-raised, 0.19, 0.035), func(_, _ point) colour { return brow })
		c.glow(h.part(side*0.42, 0.28, 0.3, 0.24), mix(h.skin, colour{0.9, 0.4, 0.36}, 0.3), 0.35)
	}
	c.glow(h.part(-h.light.x*0.09, 0.1, 0.12, 0.36), h.skin.times(0.7), 0.7)
	c.glow(h.part(h.light.x*0.03, 0.12, 0.08, 0.36), mix(h.skin, colour{1, 1, 1}, 0.5), 0.6)
	c.glow(h.part(0, 0.33, 0.22, 0.1), h.skin.times(0.45), 0.8)
	wide, smile := c.between(0.2, 0.3), c.between(0, 0.08)
	c.ellipse(h.part(0, 0.55, wide, 0.05), func(_, q point) colour { return lips.times(0.75 - 0.1*q.y) })
	c.ellipse(h.part(0, 0.6, wide*0.8, 0.055), func(_, q point) colour { return lips.times(1.05 - 0.2*q.y) })
	if c.chance(0.4) {
		c.ellipse(h.part(0, 0.565, wide*0.75, 0.02+smile*0.35), func(_, _ point) colour { return colour{0.94, 0.92, 0.88} })
	} else {
		c.ellipse(h.part(0, 0.575, wide, 0.012), func(_, _ point) colour { return lips.times(0.4) })
	}
	c.glow(h.part(0, 0.78, 0.3, 0.12), h.skin.times(0.6), 0.45)
}

// fringe lays the hair over the forehead, parted at one side.
func (c *canvas) fringe(h *head, strands func(p, q point) colour) {
	cap := h.part(0, -0.12, 0.90, 1.08)
	hollow := h.part(c.between(-0.25, 0.25), c.between(0.28, 0.42), 0.8, 1.02)
	c.paint(cap.box(0), func(p point) (colour, float64) {
		q, below := cap.local(p), hollow.local(p)
		opacity := c.inside(cap.distance(q)) * (1 - c.inside(hollow.distance(below)))
		if opacity == 0 || q.y > 0.1 {
			return colour{}, 0
		}
		return strands(p, q), opacity * smooth(0.1, -0.1, q.y)
	})
}
