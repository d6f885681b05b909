package images

import "math"

var walls = []colour{{0.72, 0.60, 0.50}, {0.60, 0.33, 0.26}, {0.80, 0.77, 0.70}, {0.50, 0.52, 0.56}, {0.76, 0.68, 0.48}, {0.40, 0.45, 0.50}}

// town is a street: rows of houses with windows, the nearer the larger.
func (c *canvas) town() {
	horizon := c.between(0.5, 0.65)
	light := c.sky(horizon)
	night := light.zenith.b < 0.3
	side := c.between(-0.35, 0.35) // which walls the light falls on
	for layer := range 3 {
		depth := float64(layer+1) / 3
		for left := c.between(-0.1, 0); left < 1; {
			width := c.between(0.12, 0.26) * (0.6 + 0.5*depth)
			c.house(box{left, horizon - c.between(0.1, 0.5)*(1.15-0.45*depth), left + width, horizon + 0.12*depth}, light, depth, side, night)
			left += width * c.between(0.9, 1.5+float64(layer)*0.5)
		}
	}
	ground := horizon + 0.1
	road, rough := mix(colour{0.32, 0.32, 0.33}, light.ground, 0.3), c.noise(10, 3)
	vanish := point{c.between(0.2, 0.8), horizon - 0.02}
	c.paint(box{0, ground, 1, 1}, func(p point) (colour, float64) {
		depth := (p.y - vanish.y) / (1 - vanish.y)
		across := (p.x - vanish.x) / depth
		pale := 1.0
		if math.Abs(across) > 0.75 { // pavement
			pale = 1.35
		} else if math.Abs(across) < 0.03 && wave(1.2/depth) > 0 { // the line in the middle
			pale = 2.1
		}
		if night {
			pale *= 0.55
		}
		return road.times(pale * (0.9 + 0.2*depth + 0.25*rough.at(p))), c.inside(ground - p.y)
	})
}

// house is a wall with a grid of windows under a flat or pitched roof.
func (c *canvas) house(area box, light sky, depth, side float64, night bool) {
	wall := mix(c.vary(walls[c.IntN(len(walls))], 0.06), light.horizon, 0.55*(1-depth))
	if night {
		wall = wall.times(0.3)
	}
	width, height := area.right-area.left, area.bottom-area.top
	plaster := c.noise(12, 3)
	if c.chance(0.5) {
		peak := area.top - width*c.between(0.25, 0.5)
		roof := mix(wall.times(0.5), colour{0.35, 0.18, 0.14}, 0.5).times(1 - 0.6*boolFraction(night))
		c.polygon([]point{{area.left + width*0.5, peak}, {area.right + width*0.05, area.top + 0.005},
			{area.left - width*0.05, area.top + 0.005}}, func(p point) colour {
			return roof.times(1 + 0.12*wave(p.y*40) + 0.3*side*(p.x-area.left-width/2)/width)
		})
	}
	c.rectangle(area, func(p point) colour {
		return wall.times(1 + side*((p.x-area.left)/width-0.5) + 0.12*plaster.at(p) - 0.15*(p.y-area.top)/height)
	})
	columns := max(2, int(width/c.between(0.05, 0.09)))
	rows := max(2, int(height/c.between(0.07, 0.12)))
	pane := mix(light.zenith, colour{0.1, 0.12, 0.15}, 0.5)
	for row := range rows {
		for column := range columns {
			x := area.left + (float64(column)+0.28)*width/float64(columns)
			y := area.top + (float64(row)+0.25)*height/float64(rows)
			glass := c.vary(pane, 0.05)
			if night && c.chance(0.45) {
				glass = c.vary(colour{0.95, 0.78, 0.42}, 0.08)
			}
			window := box{x, y, x + 0.44*width/float64(columns), y + 0.55*height/float64(rows)}
			c.rectangle(window, func(p point) colour { return glass.times(1.25 - 0.5*(p.y-y)/(window.bottom-y)) })
		}
	}
}

func boolFraction(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
