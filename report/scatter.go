package report

import (
	"cmp"
	"fmt"
	"strings"
)

// Scatter draws layers of points, such as a projection of latents with the
// codes on top. Layers are painted in order.
type Scatter struct {
	Title      string
	Caption    string // advice to the reader
	XLabel     string
	YLabel     string
	Layers     []Layer
	EqualUnits bool // both axes have the same scale, for meaningful distances
}

// Layer is one set of points. More than 3000 are thinned, always the same way.
type Layer struct {
	Name    string
	X, Y    []float64 // [n]
	Size    float64   // radius in pixels; 0 chooses one by the number of points
	Opacity float64   // 0 means opaque
	Marker  Marker
	Labels  []string // [n], optional: shown under the pointer
}

// Marker is how the points of a layer look.
type Marker int

// The markers of a Layer.
const (
	Dot    Marker = iota // filled
	Ringed               // filled, with a ring in the page's colour around it
	Hollow               // outline only
)

var markerClasses = map[Marker]string{Dot: "fill", Ringed: "ringed", Hollow: "hollow"}

func (c Scatter) heading() (string, string)             { return c.Title, c.Caption }
func (c Scatter) render(m *markup, ids *idSource) error { return renderFigure(m, c, fullRow, ids) }

func (c Scatter) validate() error {
	if len(c.Layers) == 0 {
		return errNothing
	}
	for _, l := range c.Layers {
		if len(l.X) != len(l.Y) {
			return fmt.Errorf("layer %q has %d x and %d y values; give one y for each x", l.Name, len(l.X), len(l.Y))
		}
		if l.Labels != nil && len(l.Labels) != len(l.X) {
			return fmt.Errorf("layer %q has %d labels for %d points; give one each, or none at all",
				l.Name, len(l.Labels), len(l.X))
		}
	}
	return nil
}

func (c Scatter) draw(size chartSize) (*drawing, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	size.height *= 1.35 // two equally important axes
	x, y := newDomain(false), newDomain(false)
	notFinite, points := 0, 0
	var notes, words []string
	picked := make([][]int, len(c.Layers))
	for n, l := range c.Layers {
		var indices []int
		for i := range l.X {
			if !drawable(l.X[i], false) || !drawable(l.Y[i], false) {
				notFinite++
				continue
			}
			indices = append(indices, i)
			x.include(l.X[i])
			y.include(l.Y[i])
		}
		points += len(indices)
		words = append(words, fmt.Sprintf("%s: %s points.", cmp.Or(l.Name, fmt.Sprintf("layer %d", n+1)), Count(len(indices))))
		picked[n] = thinPoints(indices, scatterPoints, l.X, l.Y)
		if len(picked[n]) < len(indices) {
			notes = append(notes, fmt.Sprintf("%s of %s points of %s are drawn.",
				Count(len(picked[n])), Count(len(indices)), cmp.Or(l.Name, "a layer")))
		}
	}
	x.settle()
	y.settle()
	x.pad(0.03)
	y.pad(0.03)
	l := layout{size: size, x: x, y: y, xLabel: c.XLabel, yLabel: c.YLabel, legend: c.legend()}
	f := newFrame(l)
	if c.EqualUnits {
		l.x, l.y = equalUnits(f)
		f = newFrame(l)
		l.x, _ = equalUnits(f) // the y axis may have been rounded
		f = newFrame(l)
	}
	for n, layer := range c.Layers {
		f.open("g", "class", seriesClass(n))
		f.drawLayer(layer, picked[n])
		f.close("g")
	}
	d := f.finish(points)
	d.description = fmt.Sprintf("Scatter plot of %s against %s. %s",
		cmp.Or(c.YLabel, "y"), cmp.Or(c.XLabel, "x"), strings.Join(words, " "))
	d.notes = append(notes, leftOut(notFinite, 0)...)
	return d, nil
}

// equalUnits widens the narrower domain of f until a unit is as long on both.
func equalUnits(f *frame) (x, y domain) {
	x, y = f.x.domain, f.y.domain
	perX, perY := (x.hi-x.lo)/(f.right-f.left), (y.hi-y.lo)/(f.bottom-f.top)
	if perX < perY {
		x.pad((perY/perX - 1) / 2)
	} else {
		y.pad((perX/perY - 1) / 2)
	}
	return x, y
}

func (l Layer) radius() float64 {
	switch {
	case l.Size > 0 && l.Size <= 50:
		return l.Size
	case len(l.X) > 500:
		return 1.5
	}
	return 3.5
}

func (l Layer) opacity() string {
	if l.Opacity > 0 && l.Opacity < 1 {
		return px(max(l.Opacity, 0.01))
	}
	return "1"
}

// sheets is the number of paths that share the dots of a layer: overlapping dots
// look darker if they are on different paths.
const sheets = 8

func (f *frame) drawLayer(l Layer, picked []int) {
	if l.Marker == Dot && l.Labels == nil {
		paths := make([]strings.Builder, sheets)
		for n, i := range picked {
			paths[n%sheets].WriteString("M" + px(f.x.pos(l.X[i])) + " " + px(f.y.pos(l.Y[i])) + "h0")
		}
		for n := range paths {
			if paths[n].Len() > 0 {
				f.empty("path", "class", "dots", "stroke-width", px(2*l.radius()), "opacity", l.opacity(), "d", paths[n].String())
			}
		}
		return
	}
	f.open("g", "class", markerClasses[l.Marker], "opacity", l.opacity())
	for _, i := range picked {
		attributes := []string{"cx", px(f.x.pos(l.X[i])), "cy", px(f.y.pos(l.Y[i])), "r", px(l.radius())}
		if l.Labels == nil {
			f.empty("circle", attributes...)
			continue
		}
		f.open("circle", attributes...)
		f.element("title", l.Labels[i])
		f.close("circle")
	}
	f.close("g")
}

func (c Scatter) legend() []legendItem {
	var items []legendItem
	for i, l := range c.Layers {
		items = append(items, legendItem{l.Name, seriesClass(i), func(m *markup, x, y float64) {
			m.empty("circle", "class", markerClasses[l.Marker], "cx", px(x), "cy", px(y), "r", px(min(max(l.radius(), 3), 6)))
		}})
	}
	return items
}
