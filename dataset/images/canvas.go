package images

import (
	"math"
	"math/rand/v2"
)

// colour is red, green and blue from 0 to 1 as a screen shows them: a struct,
// as functions take and return arrays through memory.
type colour struct{ r, g, b float64 }

// mix goes from a to b as t goes from 0 to 1.
func mix(a, b colour, t float64) colour {
	return colour{a.r + (b.r-a.r)*t, a.g + (b.g-a.g)*t, a.b + (b.b-a.b)*t}
}

// times scales the brightness.
func (a colour) times(k float64) colour { return colour{a.r * k, a.g * k, a.b * k} }

// tinted multiplies by a tint, the more the larger t.
func (a colour) tinted(tint colour, t float64) colour {
	return mix(a, colour{a.r * tint.r, a.g * tint.g, a.b * tint.b}, clamp(t))
}

// point is a place or a direction; x grows to the right and y down, from 0 to 1
// across the canvas.
type point struct{ x, y float64 }

// canvas is a picture being drawn, back to front, independent of its size.
type canvas struct {
	*rand.Rand
	size int
	pix  []colour // [size, size]
}

func newCanvas(random *rand.Rand, size int) *canvas {
	return &canvas{Rand: random, size: size, pix: make([]colour, size*size)}
}

// between draws a number from low to high.
func (c *canvas) between(low, high float64) float64 { return low + (high-low)*c.Float64() }

// chance is true with probability p.
func (c *canvas) chance(p float64) bool { return c.Float64() < p }

// direction draws a unit vector whose angle to the x axis is at most the given
// one.
func (c *canvas) direction(most float64) point {
	angle := c.between(-most, most)
	return point{math.Cos(angle), math.Sin(angle)}
}

// vary draws a colour near a.
func (c *canvas) vary(a colour, by float64) colour {
	all := c.between(-by, by)
	a.r = clamp(a.r + all + c.between(-by, by)/2)
	a.g = clamp(a.g + all + c.between(-by, by)/2)
	a.b = clamp(a.b + all + c.between(-by, by)/2)
	return a
}

// box is an area of the canvas.
type box struct{ left, top, right, bottom float64 }

var everywhere = box{0, 0, 1, 1}

// paint lays over every pixel of the area the colour and opacity that at gives
// for its centre.
func (c *canvas) paint(area box, at func(p point) (colour, float64)) {
	size := float64(c.size)
	fromX, toX := max(int(area.left*size), 0), min(int(area.right*size)+1, c.size)
	fromY, toY := max(int(area.top*size), 0), min(int(area.bottom*size)+1, c.size)
	step := 1 / size
	for y := fromY; y < toY; y++ {
		for x := fromX; x < toX; x++ {
			paint, opacity := at(point{(float64(x) + 0.5) * step, (float64(y) + 0.5) * step})
			if opacity <= 0 {
				continue
			}
			pixel := &c.pix[y*c.size+x]
			if opacity < 1 {
				paint = mix(*pixel, paint, opacity)
			}
			*pixel = paint
		}
	}
}

// inside is the opacity of a point at a signed distance from an edge: negative
// inside, blended over the width of a pixel.
func (c *canvas) inside(distance float64) float64 { return clamp(0.5 - distance*float64(c.size)) }

// fill covers the canvas with the colours that at gives.
func (c *canvas) fill(at func(p point) colour) {
	c.paint(everywhere, func(p point) (colour, float64) { return at(p), 1 })
}

// ellipse is a filled ellipse, turned so that its first radius points along
// the direction axis.
type ellipse struct {
	centre point
	a, b   float64 // radii
	axis   point   // unit vector; the zero value is level
}

// local returns p in the ellipse's own axes, in units of its radii.
func (e *ellipse) local(p point) point {
	axis := e.axis
	if axis == (point{}) {
		axis.x = 1
	}
	dx, dy := p.x-e.centre.x, p.y-e.centre.y
	return point{(dx*axis.x + dy*axis.y) / e.a, (dy*axis.x - dx*axis.y) / e.b}
}

// box returns an area that holds the ellipse grown by margin.
func (e *ellipse) box(margin float64) box {
	r := max(e.a, e.b) + margin
	return box{e.centre.x - r, e.centre.y - r, e.centre.x + r, e.centre.y + r}
}

// distance is about the signed distance of a point given in local units.
func (e *ellipse) distance(q point) float64 {
	radius := math.Sqrt(q.x*q.x + q.y*q.y)
	slope := math.Sqrt(q.x*q.x/(e.a*e.a) + q.y*q.y/(e.b*e.b))
	if slope == 0 {
		return -min(e.a, e.b)
	}
	return radius * (radius - 1) / slope
}

// ellipse paints an ellipse with the colour that at gives for local points.
func (c *canvas) ellipse(e ellipse, at func(p, local point) colour) {
	c.paint(e.box(1/float64(c.size)), func(p point) (colour, float64) {
		q := e.local(p)
		if q.x*q.x+q.y*q.y > 4 {
			return colour{}, 0
		}
		opacity := c.inside(e.distance(q))
		if opacity == 0 {
			return colour{}, 0
		}
		return at(p, q), opacity
	})
}

// glow paints a spot that fades out softly over the ellipse: light or shadow.
func (c *canvas) glow(e ellipse, light colour, strength float64) {
	c.paint(e.box(0), func(p point) (colour, float64) {
		q := e.local(p)
		fade := clamp(1 - q.x*q.x - q.y*q.y)
		return light, strength * fade * fade
	})
}

// polygon paints a convex polygon, its corners in clockwise order on screen.
func (c *canvas) polygon(corners []point, at func(p point) colour) {
	area := box{1, 1, 0, 0}
	for _, p := range corners {
		area = box{min(area.left, p.x), min(area.top, p.y), max(area.right, p.x), max(area.bottom, p.y)}
	}
	type side struct{ x, y, offset float64 } // outward normal
	sides := make([]side, len(corners))
	for i, p := range corners {
		next := corners[(i+1)%len(corners)]
		dx, dy := next.x-p.x, next.y-p.y
		length := max(math.Sqrt(dx*dx+dy*dy), 1e-9)
		sides[i] = side{x: dy / length, y: -dx / length}
		sides[i].offset = sides[i].x*p.x + sides[i].y*p.y
	}
	c.paint(area, func(p point) (colour, float64) {
		distance := -1.0
		for _, s := range sides {
			if d := s.x*p.x + s.y*p.y - s.offset; d > distance {
				distance = d
			}
		}
		opacity := c.inside(distance)
		if opacity == 0 {
			return colour{}, 0
		}
		return at(p), opacity
	})
}

// rectangle paints a level rectangle.
func (c *canvas) rectangle(area box, at func(p point) colour) {
	c.polygon([]point{{area.left, area.top}, {area.right, area.top}, {area.right, area.bottom}, {area.left, area.bottom}}, at)
}

func plain(a colour) func(point) colour { return func(point) colour { return a } }

// clamp brings v to 0..1. Comparisons are several times quicker than min and
// max, which must heed NaN and negative zero.
func clamp(v float64) float64 {
	if v < 0 {
		return 0
	}
	if v > 1 {
		return 1
	}
	return v
}

// smooth rises from 0 at low to 1 at high without corners.
func smooth(low, high, v float64) float64 {
	t := clamp((v - low) / (high - low))
	return t * t * (3 - 2*t)
}
