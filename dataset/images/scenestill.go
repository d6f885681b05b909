package images

import "math"

var paints = []colour{
	{0.78, 0.22, 0.18}, {0.90, 0.62, 0.20}, {0.85, 0.80, 0.35}, {0.35, 0.55, 0.28}, {0.22, 0.42, 0.60},
	{0.45, 0.30, 0.50}, {0.88, 0.85, 0.80}, {0.30, 0.28, 0.27}, {0.65, 0.45, 0.30}, {0.60, 0.70, 0.72},
}

// stillLife is a group of balls, boxes and jars on a table before a wall.
func (c *canvas) stillLife() {
	edge := c.between(0.45, 0.62)
	light := point{c.between(-0.8, 0.8), -0.6}
	wall, table := c.vary(colour{0.62, 0.60, 0.56}, 0.25), c.vary(colour{0.50, 0.38, 0.27}, 0.15)
	paper, grain := c.texture(), c.noise(3, 4)
	c.fill(func(p point) colour {
		return wall.times(0.85 + 0.35*(p.x-0.5)*light.x*2 - 0.25*p.y + 0.12*paper(p))
	})
	planks := c.between(2, 6)
	c.paint(box{0, edge, 1, 1}, func(p point) (colour, float64) {
		depth := 0.35 / (0.35 + p.y - edge)
		across := (p.x-0.5)*depth + 0.5
		wood := wave(across*planks*2 + 1.2*grain.at(point{across, p.y * 0.3}))
		return table.times(0.85 + 0.3*(p.y-edge) + 0.1*wood + 0.15*grain.at(p)), c.inside(edge - p.y)
	})
	things := 2 + c.IntN(4)
	for i := range things {
		depth := (float64(i) + c.Float64()) / float64(things)
		foot := point{c.between(0.12, 0.88), edge + 0.06 + (0.9-edge)*depth*0.75}
		size := c.between(0.09, 0.17) * (0.8 + 0.7*depth)
		c.glow(ellipse{centre: point{foot.x - light.x*size*0.8, foot.y}, a: size * 1.9, b: size * 0.55}, table.times(0.2), 0.85)
		paint, surface := c.vary(paints[c.IntN(len(paints))], 0.06), c.texture()
		switch c.IntN(3) {
		case 0:
			c.ball(foot, size, light, paint, surface)
		case 1:
			c.crate(foot, size, light, paint, surface)
		default:
			c.jar(foot, size, light, paint, surface)
		}
	}
}

// ball is a sphere with a highlight.
func (c *canvas) ball(foot point, radius float64, light point, paint colour, surface texture) {
	e := ellipse{centre: point{foot.x, foot.y - radius*0.9}, a: radius, b: radius * c.between(0.9, 1), axis: c.direction(0.3)}
	c.ellipse(e, func(p, q point) colour {
		front := math.Sqrt(max(0, 1-q.x*q.x-q.y*q.y))
		lit := max(0, 0.55*q.x*light.x+0.6*q.y*light.y+0.62*front)
		shine := max(0, lit-0.8) * 4
		bent := point{e.centre.x + q.x/(0.6+front)*radius, e.centre.y + q.y/(0.6+front)*radius} // the pattern follows the roundness
		body := paint.times((0.28 + 0.85*lit) * (1 + 0.35*surface(bent)))
		return mix(body, colour{1, 1, 1}, clamp(shine*shine*0.8))
	})
}

// crate is a box seen over one edge: a lid and two sides.
func (c *canvas) crate(foot point, size float64, light point, paint colour, surface texture) {
	turn := c.between(-0.45, 0.45)
	high := size * c.between(0.9, 2)
	near := point{foot.x + turn*size, foot.y}
	left, right := point{foot.x - size, foot.y - size*(0.35+0.25*turn)}, point{foot.x + size, foot.y - size*(0.35-0.25*turn)}
	up := func(p point) point { return point{p.x, p.y - high} }
	back := point{left.x + right.x - near.x, left.y + right.y - near.y}
	side := func(k float64) func(point) colour {
		return func(p point) colour {
			return paint.times(k * (1 + 0.35*surface(p)) * (1 - 0.25*(p.y-foot.y+high)/high))
		}
	}
	c.polygon([]point{up(left), up(near), near, left}, side(0.75-0.3*light.x))
	c.polygon([]point{up(near), up(right), right, near}, side(0.75+0.3*light.x))
	c.polygon([]point{up(back), up(right), up(near), up(left)}, func(p point) colour { return paint.times(1.1 * (1 + 0.2*surface(p))) })
}

// jar is an upright cylinder with a neck.
func (c *canvas) jar(foot point, size float64, light point, paint colour, surface texture) {
	half, high := size*c.between(0.5, 0.8), size*c.between(1.8, 2.8)
	neck := half * c.between(0.4, 1)
	round := func(width float64) func(p point) colour {
		return func(p point) colour {
			x := max(-1, min(1, (p.x-foot.x)/width))
			front := math.Sqrt(1 - x*x)
			lit := 0.3 + 0.6*front + 0.35*x*light.x
			gleam := max(0, 1-8*math.Abs(x-0.5*light.x))
			return mix(paint.times(lit*(1+0.3*surface(point{foot.x + x/(0.7+front)*width, p.y}))), colour{1, 1, 1}, 0.4*gleam)
		}
	}
	shoulder, top := foot.y-high*0.7, foot.y-high
	c.ellipse(ellipse{centre: foot, a: half, b: half * 0.28}, func(p, _ point) colour { return round(half)(p) })
	c.polygon([]point{{foot.x - half, shoulder}, {foot.x + half, shoulder}, {foot.x + half, foot.y}, {foot.x - half, foot.y}}, round(half))
	c.ellipse(ellipse{centre: point{foot.x, shoulder}, a: half, b: half * 0.45}, func(p, _ point) colour { return round(half)(p) })
	c.rectangle(box{foot.x - neck, top, foot.x + neck, shoulder}, round(neck))
	c.ellipse(ellipse{centre: point{foot.x, top}, a: neck, b: neck * 0.3}, func(_, q point) colour { return paint.times(0.35 + 0.1*q.y) })
}
