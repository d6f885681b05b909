package images

// sky is the light of a time of day.
type sky struct {
	zenith, horizon, cloud, sun, ground colour
}

var skies = []sky{
	{zenith: colour{0.20, 0.42, 0.75}, horizon: colour{0.72, 0.84, 0.93}, cloud: colour{0.97, 0.97, 0.98}, sun: colour{1, 0.98, 0.88},
		ground: colour{0.34, 0.46, 0.20}},
	{zenith: colour{0.30, 0.33, 0.55}, horizon: colour{0.96, 0.62, 0.38}, cloud: colour{0.93, 0.55, 0.48}, sun: colour{1, 0.87, 0.60},
		ground: colour{0.30, 0.25, 0.18}},
	{zenith: colour{0.52, 0.58, 0.63}, horizon: colour{0.80, 0.82, 0.83}, cloud: colour{0.62, 0.65, 0.68}, sun: colour{0.93, 0.93, 0.92},
		ground: colour{0.33, 0.37, 0.26}},
	{zenith: colour{0.44, 0.52, 0.72}, horizon: colour{0.95, 0.80, 0.74}, cloud: colour{0.96, 0.84, 0.82}, sun: colour{1, 0.95, 0.84},
		ground: colour{0.40, 0.42, 0.28}},
	{zenith: colour{0.05, 0.07, 0.17}, horizon: colour{0.22, 0.27, 0.42}, cloud: colour{0.20, 0.23, 0.33}, sun: colour{0.95, 0.95, 0.88},
		ground: colour{0.08, 0.11, 0.13}},
}

// sky paints the sky down to the horizon and returns its light.
func (c *canvas) sky(horizon float64) sky {
	light := skies[c.IntN(len(skies))]
	light.zenith, light.horizon, light.ground = c.vary(light.zenith, 0.07), c.vary(light.horizon, 0.05), c.vary(light.ground, 0.1)
	c.fill(func(p point) colour { return mix(light.zenith, light.horizon, smooth(-0.1, horizon, p.y)) })
	if c.chance(0.5) {
		at := point{c.between(0.1, 0.9), c.between(0.08, horizon)}
		radius := c.between(0.02, 0.06)
		c.glow(ellipse{centre: at, a: radius * 8, b: radius * 8}, light.sun, 0.75)
		c.ellipse(ellipse{centre: at, a: radius, b: radius}, func(_, _ point) colour { return light.sun })
	}
	if c.chance(0.7) {
		n, cover := c.noise(2, 5), c.between(-0.25, 0.35)
		flat := c.between(1, 2)
		c.paint(box{0, 0, 1, horizon}, func(p point) (colour, float64) {
			q := point{p.x, p.y * flat}
			thick := n.at(q) - cover
			if thick <= 0 {
				return colour{}, 0
			}
			return mix(light.cloud, light.zenith, 0.5*clamp(thick-0.2)), 0.9 * smooth(0, 0.5, thick) * smooth(horizon, horizon*0.4, p.y)
		})
	}
	return light
}

// landscape is sky, ranges of hills that fade into the haze, and a foreground
// of meadow with trees or of water that mirrors it all.
func (c *canvas) landscape() {
	horizon := c.between(0.35, 0.65)
	light := c.sky(horizon)
	ranges := 2 + c.IntN(3)
	for i := range ranges {
		depth := float64(i+1) / float64(ranges)
		c.hills(horizon+(depth-1)*0.04, c.between(0.05, 0.3)*(1.2-depth), mix(mix(light.horizon, light.zenith, 0.4), light.ground,
			0.25+0.65*depth))
	}
	if c.chance(0.4) {
		c.water(horizon, light)
		return
	}
	c.meadow(horizon, light)
	shade := mix(light.ground, colour{0.05, 0.12, 0.06}, 0.6)
	conifers := c.chance(0.5)
	trees := c.IntN(9)
	for i := range trees {
		depth := float64(i+1) / float64(trees) // far ones first
		foot := point{c.between(-0.05, 1.05), horizon + (0.95-horizon)*depth*depth*0.8}
		height := (0.08 + 0.35*depth*depth) * c.between(0.7, 1.3)
		leaf := mix(c.vary(shade, 0.05), light.horizon, 0.35*(1-depth))
		c.glow(ellipse{centre: foot, a: height * 0.4, b: height * 0.08}, light.ground.times(0.3), 0.8)
		if conifers {
			c.conifer(foot, height, leaf)
		} else {
			c.tree(foot, height, leaf)
		}
	}
}

// hills paints a range whose ridge rises above base.
func (c *canvas) hills(base, height float64, body colour) {
	ridge, rock := c.noise(2, 5), c.noise(6, 3)
	top := func(x float64) float64 { return base - height*(0.55+ridge.at(point{x, 0.5})) }
	edges, slopes := make([]float64, c.size), make([]float64, c.size)
	for i := range edges {
		x := (float64(i) + 0.5) / float64(c.size)
		edges[i] = top(x)
		slopes[i] = (top(x+0.02) - edges[i]) * 8 // lit from the right
	}
	c.paint(box{0, base - height*1.8, 1, 1}, func(p point) (colour, float64) {
		column := int(p.x * float64(c.size))
		opacity := c.inside(edges[column] - p.y)
		if opacity == 0 {
			return colour{}, 0
		}
		return body.times(1 + 0.25*slopes[column] + 0.22*rock.at(p)), opacity
	})
}

// meadow paints the ground towards the viewer: coarser and darker up close.
func (c *canvas) meadow(horizon float64, light sky) {
	n := c.noise(8, 4)
	near := c.vary(light.ground.times(0.8), 0.06)
	c.paint(box{0, horizon, 1, 1}, func(p point) (colour, float64) {
		depth := (p.y - horizon) / (1 - horizon)
		grass := n.at(point{0.5 + (p.x-0.5)/(0.4+depth), 0.3 / (0.3 + depth)})
		return mix(mix(light.ground, light.horizon, 0.25), near, depth).times(1 + 0.35*grass), c.inside(horizon - p.y)
	})
}

// water mirrors the scene above the horizon, broken by ripples.
func (c *canvas) water(horizon float64, light sky) {
	n, deep := c.noise(5, 4), c.between(0.15, 0.45)
	mirror := append([]colour(nil), c.pix...)
	c.paint(box{0, horizon, 1, 1}, func(p point) (colour, float64) {
		depth := p.y - horizon
		ripple := n.at(point{p.x * 0.5, clamp(0.25 / (0.25 + depth*3))})
		y := int(clamp(horizon-depth+ripple*depth*0.35) * float64(c.size))
		x := int(clamp(p.x+ripple*0.03) * float64(c.size))
		seen := mirror[min(y, c.size-1)*c.size+min(x, c.size-1)]
		return mix(seen, light.zenith.times(0.6), deep).times(1 + 0.15*ripple), c.inside(horizon - p.y)
	})
}

// conifer is a trunk under layers of triangles.
func (c *canvas) conifer(foot point, height float64, leaf colour) {
	wide := height * c.between(0.2, 0.3)
	c.rectangle(box{foot.x - height*0.02, foot.y - height*0.2, foot.x + height*0.02, foot.y}, plain(leaf.times(0.6)))
	for layer := range 3 {
		low := foot.y - height*(0.1+0.25*float64(layer))
		reach := wide * (1 - 0.25*float64(layer))
		c.polygon([]point{{foot.x, low - height*0.42}, {foot.x + reach, low}, {foot.x - reach, low}}, func(p point) colour {
			return leaf.times(0.85 + 0.9*(p.x-foot.x)/wide*0.4 + 0.1*float64(layer))
		})
	}
}

// tree is a trunk under a crown of leafy balls, lit from the right.
func (c *canvas) tree(foot point, height float64, leaf colour) {
	c.rectangle(box{foot.x - height*0.03, foot.y - height*0.5, foot.x + height*0.03, foot.y}, plain(colour{0.25, 0.18, 0.12}))
	n := c.noise(24, 2)
	for range 5 {
		ball := ellipse{centre: point{foot.x + c.between(-0.18, 0.18)*height, foot.y - height*c.between(0.5, 0.8)}}
		ball.a = height * c.between(0.14, 0.24)
		ball.b = ball.a * c.between(0.8, 1)
		c.ellipse(ball, func(p, q point) colour { return leaf.times(1 + 0.35*(q.x-q.y) + 0.5*n.at(p)) })
	}
}
