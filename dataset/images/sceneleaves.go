package images

import "math"

// leaves is a heap of shapes of all sizes, each hiding part of those below and
// dropping a shadow: the dead leaves model, with the spectrum and edges of
// natural pictures (Lee, Mumford and Huang 2001).
func (c *canvas) leaves() {
	ground, surface := c.vary(colour{0.4, 0.38, 0.34}, 0.25), c.noise(2, 5)
	c.fill(func(p point) colour { return ground.times(1 + 0.3*surface.at(p)) })
	palette := make([]colour, 2+c.IntN(4))
	for i := range palette {
		palette[i] = paints[c.IntN(len(paints))]
	}
	light := c.direction(math.Pi)
	const largest, smallest = 0.45, 0.06
	for range 90 {
		// Areas fall with the inverse cube of the radius.
		u := c.Float64()
		radius := 1 / math.Sqrt(1/(largest*largest)+u*(1/(smallest*smallest)-1/(largest*largest)))
		paint, weave := c.vary(palette[c.IntN(len(palette))], 0.1), c.texture()
		e := ellipse{centre: point{c.Float64(), c.Float64()}, a: radius, b: radius * c.between(0.4, 1), axis: c.direction(math.Pi)}
		shadow := e
		shadow.centre = point{e.centre.x - light.x*radius*0.15, e.centre.y - light.y*radius*0.15}
		shadow.a, shadow.b = e.a*1.3, e.b*1.3
		c.glow(shadow, colour{0.05, 0.05, 0.06}, 0.7)
		if c.chance(0.6) {
			c.ellipse(e, func(p, q point) colour {
				return paint.times(0.85 + 0.3*(q.x*light.x+q.y*light.y) + 0.3*weave(p))
			})
			continue
		}
		corners := make([]point, 3+c.IntN(4))
		for i := range corners {
			angle := 2 * math.Pi * (float64(i) + c.between(0, 0.6)) / float64(len(corners))
			corners[i] = point{e.centre.x + radius*math.Cos(angle), e.centre.y + radius*math.Sin(angle)}
		}
		c.polygon(corners, func(p point) colour {
			return paint.times(0.9 + 0.25*((p.x-e.centre.x)*light.x+(p.y-e.centre.y)*light.y)/radius + 0.3*weave(p))
		})
	}
}
