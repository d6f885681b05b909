package report

import (
	"fmt"
	"math"
	"strings"
)

// GroupedBars compares a few series over a few groups, such as methods over
// data sets, with optional error bars.
type GroupedBars struct {
	Title   string
	Caption string // advice to the reader
	YLabel  string
	Groups  []string // [g]
	Series  []BarSeries
	LogY    bool
	// Points draws markers on an axis fitted to the values instead of bars
	// from zero: for scores whose differences are small beside their size.
	Points bool
}

// BarSeries is one colour of a GroupedBars.
type BarSeries struct {
	Name   string
	Values []float64 // [g]; NaN where there is no value
	Errors []float64 // [g], optional: half the length of the error bar
}

// mostWritten is the number of values up to which each is written out.
const mostWritten = 14

func (c GroupedBars) heading() (string, string) { return c.Title, c.Caption }

func (c GroupedBars) render(m *markup, ids *idSource) error {
	return renderFigure(m, c, fullRow, ids)
}

func (c GroupedBars) validate() error {
	if len(c.Groups) == 0 || len(c.Series) == 0 {
		return errNothing
	}
	for _, s := range c.Series {
		if len(s.Values) != len(c.Groups) {
			return fmt.Errorf("series %q has %d values for %d groups; give one each, NaN where there is none", s.Name, len(s.Values), len(c.Groups))
		}
		if s.Errors != nil && len(s.Errors) != len(s.Values) {
			return fmt.Errorf("series %q has %d errors for %d values; give one each, or none at all", s.Name, len(s.Errors), len(s.Values))
		}
	}
	return nil
}

func (s BarSeries) spread(i int) float64 {
	if s.Errors == nil || !drawable(s.Errors[i], false) {
		return 0
	}
	return math.Abs(s.Errors[i])
}

func (c GroupedBars) draw(size chartSize) (*drawing, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	y := newDomain(c.LogY)
	if !c.Points && !c.LogY {
		y.include(0)
	}
	notFinite, notPositive := 0, 0
	for _, s := range c.Series {
		for i, v := range s.Values {
			switch {
			case math.IsNaN(v): // stands for "no value", nothing to report
			case c.LogY && v <= 0:
				notPositive++
			case !drawable(v, c.LogY):
				notFinite++
			default:
				y.include(v)
				y.include(v + s.spread(i))
				y.include(v - s.spread(i))
			}
		}
	}
	if y.lo == 0 && y.hi == 0 && !c.Points { // nothing but zeros
		y.include(1)
	}
	if top := y.hi; !c.Points && !c.LogY && top > 0 {
		y.include(top + top/12) // room for the written value
	}
	y.settle()
	if c.LogY && !c.Points {
		y.lo /= 2
	}
	if c.Points || c.LogY {
		y.pad(0.06)
	}
	l := layout{size: size, y: y, x: domain{lo: 0, hi: float64(len(c.Groups))}, yLabel: c.YLabel, legend: c.legend()}
	for _, g := range c.Groups {
		l.bands = append(l.bands, band{g})
	}
	f := newFrame(l)
	for i, s := range c.Series {
		f.open("g", "class", seriesClass(i))
		for g := range c.Groups {
			f.drawGrouped(c, s, i, g)
		}
		f.close("g")
	}
	return &drawing{size: f.size, body: f.String(), description: c.describe(), notes: leftOut(notFinite, notPositive)}, nil
}

// drawGrouped draws value g of series number.
func (f *frame) drawGrouped(c GroupedBars, s BarSeries, number, g int) {
	v := s.Values[g]
	slot := (f.right - f.left) / float64(len(c.Groups))
	width := math.Min(slot*0.8/float64(len(c.Series)), 64)
	left := f.left + (float64(g)+0.5)*slot + (float64(number)-float64(len(c.Series))/2)*width
	middle := left + width/2
	written := len(c.Groups)*len(c.Series) <= mostWritten
	if !drawable(v, c.LogY) {
		if written {
			f.element("text", "–", "class", "value", "text-anchor", "middle", "x", px(middle), "y", px(f.bottom-5))
		}
		return
	}
	base := f.bottom
	if !c.LogY && !c.Points {
		base = f.y.pos(0)
	}
	end := f.y.pos(v)
	f.open("g")
	f.element("title", fmt.Sprintf("%s, %s: %s", s.Name, c.Groups[g], s.text(g)))
	if !c.Points {
		gap := math.Min(3, width*0.15)
		f.empty("rect", "class", "bar", "x", px(left+gap/2), "y", px(math.Min(base, end)),
			"width", px(width-gap), "height", px(math.Abs(base-end)))
	}
	top := math.Min(base, end)
	if c.Points {
		top = end - 4
	}
	if spread := s.spread(g); spread > 0 {
		low, high := f.y.lo, f.y.pos(v+spread)
		if drawable(v-spread, c.LogY) {
			low = math.Max(low, v-spread)
		}
		cap := math.Min(5, width/4)
		f.empty("path", "class", "whisker", "d", fmt.Sprintf("M%s %sV%sM%s %sH%sM%s %sH%s",
			px(middle), px(f.y.pos(low)), px(high), px(middle-cap), px(high), px(middle+cap),
			px(middle-cap), px(f.y.pos(low)), px(middle+cap)))
		top = math.Min(top, high)
	}
	if c.Points {
		drawMarker(&f.markup, number, middle, end, 4.5)
	}
	f.close("g")
	digits := 3
	if c.Points { // their differences are small beside their size
		digits = 4
	}
	if label := Short(v, digits); written && textLength(label, tickFont) < width+6 {
		f.element("text", label, "class", "value", "text-anchor", "middle", "x", px(middle), "y", px(top-5))
	}
}

func (s BarSeries) text(g int) string {
	if spread := s.spread(g); spread > 0 {
		return PlusMinus(s.Values[g], spread)
	}
	return Number(s.Values[g], 4)
}

func (c GroupedBars) legend() []legendItem {
	var items []legendItem
	for i, s := range c.Series {
		if len(c.Series) == 1 && s.Name == "" {
			break
		}
		items = append(items, legendItem{s.Name, seriesClass(i), func(m *markup, x, y float64) {
			if c.Points {
				drawMarker(m, i, x, y, 4.5)
				return
			}
			m.empty("rect", "class", "bar", "x", px(x-6), "y", px(y-6), "width", "12", "height", "12")
		}})
	}
	return items
}

func (c GroupedBars) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Comparison of %s.", orElse(c.YLabel, "values"))
	for g, group := range c.Groups {
		var values []string
		for _, s := range c.Series {
			values = append(values, strings.TrimSpace(s.Name+" "+s.text(g)))
		}
		fmt.Fprintf(&b, " %s: %s.", group, strings.Join(values, ", "))
	}
	return b.String()
}
