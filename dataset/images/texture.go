package images

import "math"

// texture gives a brightness around 0, about -1 to 1, for every point.
type texture func(p point) float64

// noise is value noise: random heights on lattices of growing fineness and
// falling strength, smoothly interpolated; the spectrum of natural surfaces.
type noise struct {
	octaves []lattice
}

type lattice struct {
	cells   int
	heights []float64 // [cells+1, cells+1]
}

// noise draws a field whose coarsest lattice has the given number of cells
// across the canvas; every octave halves their size and strength.
func (c *canvas) noise(cells, octaves int) *noise {
	n := &noise{}
	for strength := 0.6; octaves > 0; octaves-- {
		heights := make([]float64, (cells+1)*(cells+1))
		for i := range heights {
			heights[i] = c.between(-strength, strength)
		}
		n.octaves = append(n.octaves, lattice{cells, heights})
		cells, strength = cells*2, strength/2
	}
	return n
}

// at returns the height at a point; outside the canvas the border is repeated.
func (n *noise) at(p point) float64 {
	sum := 0.0
	x, y := clamp(p.x), clamp(p.y)
	for i := range n.octaves {
		l := &n.octaves[i]
		u, v := x*float64(l.cells), y*float64(l.cells)
		column, row := min(int(u), l.cells-1), min(int(v), l.cells-1)
		u, v = u-float64(column), v-float64(row)
		u, v = u*u*(3-2*u), v*v*(3-2*v)
		h := l.heights[row*(l.cells+1)+column:]
		below := h[l.cells+1:]
		top := h[0] + (h[1]-h[0])*u
		bottom := below[0] + (below[1]-below[0])*u
		sum += top + (bottom-top)*v
	}
	return sum
}

// wave is a sine of period 1.
func wave(t float64) float64 {
	t -= math.Floor(t)
	if t < 0.5 {
		return 16 * t * (0.5 - t)
	}
	return -16 * (t - 0.5) * (1 - t)
}

// texture draws a kind of surface: smooth, mottled, striped, checked, grained
// or dotted.
func (c *canvas) texture() texture {
	axis := c.direction(math.Pi)
	along := func(p point) float64 { return p.x*axis.x + p.y*axis.y }
	across := func(p point) float64 { return p.y*axis.x - p.x*axis.y }
	frequency := c.between(3, 10)
	edge := frequency / float64(c.size) // a pixel, in periods
	sharp := func(v float64) float64 { return max(-1, min(1, v/(8*edge))) }
	strength := c.between(0.3, 1)
	switch c.IntN(7) {
	case 0, 1:
		return func(point) float64 { return 0 }
	case 2:
		n := c.noise(3, 4)
		return func(p point) float64 { return n.at(p) }
	case 3:
		return func(p point) float64 { return strength * sharp(wave(along(p)*frequency)) }
	case 4:
		return func(p point) float64 {
			return strength * sharp(wave(along(p)*frequency)) * sharp(wave(across(p)*frequency))
		}
	case 5: // wood: stripes bent by noise
		n := c.noise(2, 3)
		return func(p point) float64 { return 0.5 * wave(along(p)*frequency+n.at(p)*1.5) }
	default:
		return func(p point) float64 {
			return strength * sharp(wave(along(p)*frequency)+wave(across(p)*frequency)-0.8)
		}
	}
}
