package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// PointChart compares a score over a few groups, such as methods: markers with
// optional error bars, on an axis fitted to the values because their differences
// may be small beside their size.
type PointChart struct {
	Title   string
	Caption string // advice to the reader
	YLabel  string
	Groups  []string  // [g]
	Values  []float64 // [g]; NaN where there is no value
	Errors  []float64 // [g], optional: half the length of the error bar
}

// mostWritten is the number of values up to which each is written out.
const mostWritten = 14

func (c PointChart) heading() (string, string) { return c.Title, c.Caption }

func (c PointChart) render(m *markup, ids *idSource) error { return renderFigure(m, c, fullRow, ids) }

func (c PointChart) validate() error {
	switch n := len(c.Groups); {
	case n == 0:
		return errNothing
	case len(c.Values) != n:
		return fmt.Errorf("%d values for %d groups; give one each, NaN where there is none", len(c.Values), n)
	case c.Errors != nil && len(c.Errors) != n:
		return fmt.Errorf("%d errors for %d values; give one each, or none at all", len(c.Errors), n)
	}
	return nil
}

func (c PointChart) spread(g int) float64 {
	if c.Errors == nil || !drawable(c.Errors[g], false) {
		return 0
	}
	return math.Abs(c.Errors[g])
}

func (c PointChart) draw(size chartSize) (*drawing, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	y, notFinite := newDomain(false), 0
	for g, v := range c.Values {
		switch {
		case math.IsNaN(v): // stands for "no value", nothing to report
		case !drawable(v, false):
			notFinite++
		default:
			y.include(v + c.spread(g))
			y.include(v - c.spread(g))
			y.include(v)
		}
	}
	y.settle()
	y.pad(0.06)
	f := newFrame(layout{size: size, y: y, x: domain{lo: 0, hi: float64(len(c.Groups))}, yLabel: c.YLabel, bands: c.Groups})
	f.open("g", "class", seriesClass(0))
	for g := range c.Groups {
		f.drawPoint(c, g)
	}
	f.close("g")
	return &drawing{size: f.size, body: f.String(), description: c.describe(), notes: leftOut(notFinite, 0)}, nil
}

// drawPoint draws the value of group g.
func (f *frame) drawPoint(c PointChart, g int) {
	v, slot := c.Values[g], (f.right-f.left)/float64(len(c.Groups))
	width := math.Min(slot*0.8, 64)
	middle := f.left + (float64(g)+0.5)*slot
	write := func(text string, y float64) {
		if len(c.Groups) <= mostWritten && textLength(text, tickFont) < width+6 {
			f.element("text", text, "class", "value", "text-anchor", "middle", "x", px(middle), "y", px(y-5))
		}
	}
	if !drawable(v, false) {
		write("–", f.bottom)
		return
	}
	at := f.y.pos(v)
	f.open("g")
	f.element("title", c.Groups[g]+": "+c.text(g))
	top := at - 4
	if spread := c.spread(g); spread > 0 {
		low, high := px(f.y.pos(v-spread)), f.y.pos(v+spread)
		cap := math.Min(5, width/4)
		left, right := px(middle-cap), px(middle+cap)
		f.empty("path", "class", "whisker", "d", fmt.Sprintf("M%s %sV%sM%s %sH%sM%s %sH%s",
			px(middle), low, px(high), left, px(high), right, left, low, right))
		top = math.Min(top, high)
	}
	drawMarker(&f.markup, 0, middle, at, 4.5)
	f.close("g")
	write(Short(v, 4), top)
}

func (c PointChart) text(g int) string {
	if spread := c.spread(g); spread > 0 {
		return PlusMinus(c.Values[g], spread)
	}
	return Number(c.Values[g], 4)
}

func (c PointChart) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Comparison of %s.", cmp.Or(c.YLabel, "values"))
	for g, group := range c.Groups {
		fmt.Fprintf(&b, " %s: %s.", group, c.text(g))
	}
	return b.String()
}
