package report

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Chart is a part that draws: LineChart, BarChart, PointChart or Scatter.
type Chart interface {
	Part
	heading() (title, caption string)
	draw(size chartSize) (*drawing, error)
}

// chartSize is the size of a drawing in its own units, which are CSS pixels
// at the page's full width.
type chartSize struct{ width, height float64 }

var (
	halfRow = chartSize{520, 320}
	fullRow = chartSize{1080, 360}
)

// drawing is a finished chart.
type drawing struct {
	size        chartSize
	body        string   // the content of the svg element
	data        []string // attributes of the svg element for the hover script
	description string   // the chart in words
	notes       []string // on values left out or summarised
}

var errNothing = errors.New("has nothing to draw with; give it at least one series, value or layer")

// WriteSVG writes chart as an SVG file of its own, in light colours on white
// and with its title drawn.
func WriteSVG(w io.Writer, chart Chart) error {
	title, _ := chart.heading()
	d, err := chart.draw(halfRow)
	if err != nil {
		return fmt.Errorf("chart %q: %w", title, err)
	}
	const titleHeight = 30
	var m markup
	m.open("svg", "xmlns", "http://www.w3.org/2000/svg", "role", "img",
		"viewBox", fmt.Sprintf("0 0 %s %s", px(d.size.width), px(d.size.height+titleHeight)),
		"width", px(d.size.width), "height", px(d.size.height+titleHeight))
	m.element("title", title)
	m.element("desc", d.description)
	m.verbatim("style", fileStyle)
	m.empty("rect", "width", "100%", "height", "100%", "fill", lightColours.surface)
	m.element("text", fitText(title, d.size.width-16, titleFont), "class", "heading", "x", "8", "y", "20")
	m.open("g", "transform", fmt.Sprintf("translate(0 %d)", titleHeight))
	m.WriteString(d.body)
	m.closeLine("g", "svg")
	_, err = io.WriteString(w, m.String())
	return err
}

// renderCharts lays charts out in rows of two.
func renderCharts(m *markup, charts []Chart, ids *idSource) error {
	if len(charts) == 0 {
		return nil
	}
	m.open("div", "class", "charts")
	for i, chart := range charts {
		size := halfRow
		if i == len(charts)-1 && i%2 == 0 {
			size = fullRow
		}
		if err := renderFigure(m, chart, size, ids); err != nil {
			return err
		}
	}
	m.closeLine("div")
	return nil
}

func renderFigure(m *markup, chart Chart, size chartSize, ids *idSource) error {
	title, caption := chart.heading()
	d, err := chart.draw(size)
	if err != nil {
		return fmt.Errorf("chart %q: %w", title, err)
	}
	class := "chart"
	if size == fullRow {
		class = "chart full"
	}
	id := ids.next()
	m.open("figure", "class", class)
	m.optional("h3", title)
	m.open("div", "class", "scroll", "tabindex", "0", "role", "group", "aria-label", title)
	m.open("svg", append([]string{"xmlns", "http://www.w3.org/2000/svg", "role", "img",
		"aria-labelledby", id + "t " + id + "d",
		"viewBox", fmt.Sprintf("0 0 %s %s", px(d.size.width), px(d.size.height))}, d.data...)...)
	m.element("title", title, "id", id+"t")
	m.element("desc", d.description, "id", id+"d")
	m.WriteString(d.body)
	m.close("svg", "div")
	var notes []string
	if len(d.notes) > 0 {
		notes = []string{strings.Join(d.notes, " ")}
	}
	m.caption(caption, notes...)
	m.closeLine("figure")
	return nil
}

// leftOut words the notes on values that a chart does not show.
func leftOut(notFinite, notPositive int) []string {
	values := func(n int) string {
		if n == 1 {
			return "1 value is"
		}
		return Count(n) + " values are"
	}
	var notes []string
	if notFinite > 0 {
		notes = append(notes, values(notFinite)+" not finite and left out.")
	}
	if notPositive > 0 {
		notes = append(notes, values(notPositive)+" zero or negative and cannot be shown on a logarithmic axis.")
	}
	return notes
}
