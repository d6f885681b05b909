package report

import (
	"cmp"
	"fmt"
	"math"
)

// mostBars is the largest number of bars; with more, neighbours share one.
const mostBars = 256

// BarChart draws many values as bars from zero, such as how often each code
// of a codebook is used. Beyond 256 values, neighbours share a bar that shows
// their mean; the chart says so.
type BarChart struct {
	Title   string
	Caption string // advice to the reader
	XLabel  string
	YLabel  string
	Values  []float64 // [n]
}

func (c BarChart) heading() (string, string)             { return c.Title, c.Caption }
func (c BarChart) render(m *markup, ids *idSource) error { return renderFigure(m, c, fullRow, ids) }

// bar is the mean of values[from:to].
type bar struct {
	from, to int
	mean     float64
}

// bin groups values into at most mostBars bars of equal width (the last may
// be narrower). Values that cannot be drawn are left out of the mean; without any
// other it is NaN.
func bin(values []float64) []bar {
	per := max(1, (len(values)+mostBars-1)/mostBars)
	var bars []bar
	for from := 0; from < len(values); from += per {
		to := min(from+per, len(values))
		sum, n := 0.0, 0
		for _, v := range values[from:to] {
			if drawable(v, false) {
				sum += v / float64(per)
				n++
			}
		}
		mean := math.NaN()
		if n > 0 {
			mean = sum * (float64(per) / float64(n))
		}
		bars = append(bars, bar{from, to, mean})
	}
	return bars
}

func (c BarChart) draw(size chartSize) (*drawing, error) {
	bars := bin(c.Values)
	y := newDomain(false)
	y.include(0)
	shown := 0
	for _, b := range bars {
		if drawable(b.mean, false) {
			shown++
		}
		y.include(b.mean)
	}
	if y.lo == 0 && y.hi == 0 { // nothing but zeros
		y.include(1)
	}
	y.settle()
	// A bar stands around its position.
	x := domain{lo: -0.5, hi: float64(max(1, len(c.Values))) - 0.5, whole: true}
	f := newFrame(layout{size: size, x: x, y: y, xLabel: c.XLabel, yLabel: c.YLabel})
	f.open("g", "class", "s0")
	for _, b := range bars {
		f.drawBar(b)
	}
	f.close("g")
	d := f.finish(shown)
	d.description, d.notes = c.words(bars)
	return d, nil
}

func (f *frame) drawBar(b bar) {
	if !drawable(b.mean, false) || b.mean == 0 {
		return
	}
	base := f.y.pos(0)
	left, right, end := f.x.pos(float64(b.from)-0.5), f.x.pos(float64(b.to)-0.5), f.y.pos(b.mean)
	gap := 0.0
	if right-left > 3 {
		gap = math.Min(4, (right-left)*0.15)
	}
	label := fmt.Sprintf("%d: %s", b.from, Number(b.mean, 4))
	if b.to > b.from+1 {
		label = fmt.Sprintf("%d to %d: mean %s", b.from, b.to-1, Number(b.mean, 4))
	}
	f.open("rect", "class", "bar", "x", px(left+gap/2), "y", px(math.Min(base, end)),
		"width", px(right-left-gap), "height", px(math.Abs(base-end)))
	f.element("title", label)
	f.close("rect")
}

// words describes the chart and notes omissions.
func (c BarChart) words(bars []bar) (description string, notes []string) {
	low, high, zeros, notFinite := math.Inf(1), math.Inf(-1), 0, 0
	for _, v := range c.Values {
		if !drawable(v, false) {
			notFinite++
			continue
		}
		if v == 0 {
			zeros++
		}
		low, high = math.Min(low, v), math.Max(high, v)
	}
	description = fmt.Sprintf("Bar chart of %s, %s values of %s: lowest %s, highest %s, %s zero.", cmp.Or(c.YLabel, "values"),
		Count(len(c.Values)), cmp.Or(c.XLabel, "positions"), Number(low, 4), Number(high, 4), Count(zeros))
	if low > high {
		description = "Bar chart without values."
	}
	if len(bars) < len(c.Values) {
		notes = append(notes, fmt.Sprintf("Each bar is the mean of %d neighbouring values.", bars[0].to-bars[0].from))
	}
	if zeros > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s values are zero.", Count(zeros), Count(len(c.Values))))
	}
	return description, append(notes, leftOut(notFinite, 0)...)
}
