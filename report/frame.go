package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/gritvq/gritvq/internal/textwidth"
)

// Font sizes of chart text in the drawing's units; style.go uses them too.
const (
	tickFont   = 11.5
	labelFont  = 12.0
	legendFont = 12.5
	titleFont  = 15.0
)

// frame is the plotting area of a chart with its axes.
type frame struct {
	markup
	size                     chartSize
	left, right, top, bottom float64 // edges of the plotting area
	x, y                     axis
	above                    float64  // height of the labels of marks above it
	bands                    []string // categories along x instead of ticks
}

// legendItem explains one colour; symbol draws its sample centred on (x, y).
type legendItem struct {
	name, class string
	symbol      func(m *markup, x, y float64)
}

// layout describes a frame to make.
type layout struct {
	size           chartSize
	x, y           domain
	xLabel, yLabel string
	legend         []legendItem
	bands          []string
	marks          int // vertical lines whose labels stand above the plot, where no line crosses them
}

// markRows bounds the rows of labels of marks.
const markRows = 3

// newFrame computes the margins, then draws legend, grid, ticks and labels. A
// single series without a name needs no legend.
func newFrame(l layout) *frame {
	if len(l.legend) == 1 && l.legend[0].name == "" {
		l.legend = nil
	}
	rows := legendRows(l.legend, l.size.width-16)
	// A long legend makes the drawing taller rather than the plot smaller.
	l.size.height += 20 * float64(max(0, len(rows)-2))
	f := &frame{size: l.size, bands: l.bands, right: l.size.width - 16, top: 14 + float64(len(rows))*20, bottom: l.size.height - 26}
	if l.yLabel != "" {
		f.top += 14
		if len(rows) > 0 {
			f.top += 6
		}
	}
	f.above = 14 * float64(min(markRows, l.marks))
	f.top += f.above
	if l.xLabel != "" {
		f.bottom -= 20
	}
	yTarget := max(2, int((f.bottom-f.top)/46))
	l.y.round(yTarget)
	f.y = axis{l.y, f.bottom, f.top}
	yTicks := f.y.ticksThatFit(yTarget, 2, func(string) float64 { return tickFont })
	widest := 0.0
	for _, t := range yTicks {
		widest = math.Max(widest, textLength(t.label, tickFont))
	}
	f.left = math.Max(34, widest+16)
	labels := f.layBands()
	f.y.start = f.bottom
	f.x = axis{l.x, f.left, f.right}

	f.drawLegend(rows)
	if l.yLabel != "" {
		f.element("text", fitText(l.yLabel, l.size.width-16, labelFont), "class", "label", "x", "8", "y", px(f.top-f.above-12))
	}
	f.drawYTicks(yTicks)
	if l.bands == nil {
		f.drawXTicks()
	} else {
		labels.draw(f)
	}
	if l.xLabel != "" {
		f.element("text", fitText(l.xLabel, l.size.width-16, labelFont), "class", "label", "text-anchor", "middle",
			"x", px((f.left+f.right)/2), "y", px(l.size.height-8))
	}
	return f
}

func (f *frame) drawYTicks(ticks []tick) {
	for _, t := range ticks {
		y := f.y.pos(t.value)
		class := "grid"
		if t.value == 0 && f.y.lo < 0 {
			class = "axis"
		}
		f.empty("line", "class", class, "x1", px(f.left), "x2", px(f.right), "y1", px(y), "y2", px(y))
		f.element("text", t.label, "class", "tick", "text-anchor", "end", "x", px(f.left-8), "y", px(y+4))
	}
	f.empty("line", "class", "axis", "x1", px(f.left), "x2", px(f.right), "y1", px(f.bottom), "y2", px(f.bottom))
}

func (f *frame) drawXTicks() {
	measure := func(label string) float64 { return textLength(label, tickFont) }
	for _, t := range f.x.ticksThatFit(max(2, int((f.right-f.left)/90)), 14, measure) {
		x := f.x.pos(t.value)
		f.empty("line", "class", "axis", "x1", px(x), "x2", px(x), "y1", px(f.bottom), "y2", px(f.bottom+5))
		half := measure(t.label) / 2
		x = math.Max(half+2, math.Min(x, f.size.width-half-2))
		f.element("text", t.label, "class", "tick", "text-anchor", "middle", "x", px(x), "y", px(f.bottom+19))
	}
}

// finish ends the drawing; without points it says so.
func (f *frame) finish(points int) *drawing {
	if points == 0 {
		f.element("text", "no values to show", "class", "label", "text-anchor", "middle",
			"x", px((f.left+f.right)/2), "y", px((f.top+f.bottom)/2))
	}
	return &drawing{size: f.size, body: f.String()}
}

// legendRows breaks the legend into rows no wider than width. Names that are
// longer than a third of it are cut.
func legendRows(items []legendItem, width float64) [][]legendItem {
	var rows [][]legendItem
	used := math.Inf(1)
	for _, item := range items {
		item.name = fitText(item.name, math.Max(width/3, 160), legendFont)
		w := legendWidth(item)
		if used+w > width {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], item)
		used += w
	}
	return rows
}

func legendWidth(item legendItem) float64 { return 28 + textLength(item.name, legendFont) + 18 }

func (f *frame) drawLegend(rows [][]legendItem) {
	for r, row := range rows {
		x, y := 8.0, 14+float64(r)*20
		for _, item := range row {
			f.open("g", "class", item.class)
			item.symbol(&f.markup, x+10, y)
			f.close("g")
			f.element("text", item.name, "class", "legend", "x", px(x+27), "y", px(y+4))
			x += legendWidth(item)
		}
	}
}

// hoverData returns the attributes that the hover script computes values from.
func (f *frame) hoverData() []string {
	scale := func(d domain) string {
		kind := "lin"
		if d.log {
			kind = "log"
		}
		return fmt.Sprintf("%g %g %s", d.lo, d.hi, kind)
	}
	return []string{
		"class", "hover",
		"data-plot", strings.Join([]string{px(f.left), px(f.right), px(f.top), px(f.bottom)}, " "),
		"data-x", scale(f.x.domain), "data-y", scale(f.y.domain),
	}
}

// textLength estimates the width of s in a sans-serif font, on the wide side.
func textLength(s string, font float64) float64 {
	ems := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("iljtfrI.,:;|!'()[] -", r):
			ems += 0.38
		case strings.ContainsRune("mwMW%@", r):
			ems += 0.95
		case r >= 'A' && r <= 'Z':
			ems += 0.70
		default:
			ems += 0.62 * float64(textwidth.OfRune(r))
		}
	}
	return ems * font
}

// fitText cuts s to width with an ellipsis.
func fitText(s string, width, font float64) string {
	s = textwidth.OneLine(s)
	if textLength(s, font) <= width {
		return s
	}
	runes := []rune(s)
	for len(runes) > 1 && textLength(string(runes), font)+font > width {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " ") + "…"
}
