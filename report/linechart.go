package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// LineChart draws one or more series as lines.
type LineChart struct {
	Title    string
	Caption  string // advice to the reader
	XLabel   string
	YLabel   string
	LogX     bool
	LogY     bool
	Percent  bool // keeps the y axis between 0 and 100, showing at least 1 of them
	FromZero bool // begins the y axis at 0, so that ripples on a high level look small
	Series   []Series
	Marks    []Mark
}

// Series is one line of a LineChart.
type Series struct {
	Name string
	X    []float64 // [n], drawn in the order given; nil means 0, 1, 2, ...
	Y    []float64 // [n]; a value that is not finite leaves a gap
	Low  []float64 // [n], optional with High: the lower edge of a band
	High []float64 // [n]
}

// Add appends a point.
func (s *Series) Add(x, y float64) { s.X, s.Y = append(s.X, x), append(s.Y, y) }

// Mark is a vertical line with a label, such as the start of a phase.
type Mark struct {
	X     float64
	Label string
}

// RankSeries returns the use of a codebook by rank: counts [K] sorted from
// the most used code (x = 1) to the least, as shares of their sum. With LogX and
// LogY, unused codes do not show.
func RankSeries(name string, counts []float64) Series {
	s := Series{Name: name}
	sum := 0.0
	for i, v := range slices.SortedFunc(slices.Values(counts), func(a, b float64) int { return cmp.Compare(b, a) }) {
		s.Add(float64(i+1), v)
		sum += v
	}
	if sum != 0 {
		for i := range s.Y {
			s.Y[i] /= sum
		}
	}
	return s
}

func (c LineChart) heading() (string, string)             { return c.Title, c.Caption }
func (c LineChart) render(m *markup, ids *idSource) error { return renderFigure(m, c, fullRow, ids) }

// AddSeries adds a series unless it is empty.
func (c *LineChart) AddSeries(s Series) {
	if len(s.X) > 0 {
		c.Series = append(c.Series, s)
	}
}

func (c LineChart) validate() error {
	if len(c.Series) == 0 {
		return errNothing
	}
	for _, s := range c.Series {
		n := len(s.Y)
		if s.X != nil && len(s.X) != n {
			return fmt.Errorf("series %q has %d x and %d y values; give one y for each x", s.Name, len(s.X), n)
		}
		if (s.Low != nil || s.High != nil) && (len(s.Low) != n || len(s.High) != n) {
			return fmt.Errorf("series %q has a band of %d low and %d high values for %d points; give both for every point",
				s.Name, len(s.Low), len(s.High), n)
		}
	}
	return nil
}

func (s Series) x(i int) float64 {
	if s.X == nil {
		return float64(i)
	}
	return s.X[i]
}

func (c LineChart) draw(size chartSize) (*drawing, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	x, y := newDomain(c.LogX), newDomain(c.LogY)
	notFinite, notPositive, points := 0, 0, 0
	for _, s := range c.Series {
		for i, v := range s.Y {
			switch at := s.x(i); {
			case c.LogX && at <= 0 || c.LogY && v <= 0:
				notPositive++
			case !drawable(at, c.LogX) || !drawable(v, c.LogY):
				notFinite++
			default:
				points++
				x.include(at)
				y.include(v)
				if s.Low != nil {
					y.include(s.Low[i])
					y.include(s.High[i])
				}
			}
		}
	}
	shown := 0
	for _, mark := range c.Marks {
		x.include(mark.X)
		if drawable(mark.X, c.LogX) {
			shown++
		}
	}
	if c.FromZero {
		y.include(0)
	}
	x.settle()
	if c.Percent {
		y.settleShare()
	} else {
		y.settle()
	}
	if points == 0 {
		x.blank, y.blank = true, true
	}
	if c.LogY {
		y.pad(0.04)
	}
	f := newFrame(layout{size: size, x: x, y: y, xLabel: c.XLabel, yLabel: c.YLabel, legend: c.legend(), marks: shown})
	for i, s := range c.Series {
		f.drawBand(i, s)
	}
	f.drawMarks(c.Marks)
	for i, s := range c.Series {
		f.drawLine(i, s)
	}
	d := f.finish(points)
	d.data, d.description, d.notes = f.hoverData(), c.describe(), leftOut(notFinite, notPositive)
	return d, nil
}

func (c LineChart) legend() []legendItem {
	var items []legendItem
	for i, s := range c.Series {
		items = append(items, legendItem{s.Name, lineClass(i), func(m *markup, x, y float64) {
			m.empty("line", "class", "line", "x1", px(x-10), "x2", px(x+10), "y1", px(y), "y2", px(y))
			if len(s.Y) <= mostMarked {
				drawMarker(m, i, x, y, 3)
			}
		}})
	}
	return items
}

func (c LineChart) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Line chart of %s against %s.", cmp.Or(c.YLabel, "values"), cmp.Or(c.XLabel, "position"))
	for i, s := range c.Series {
		var shown []int
		for j, v := range s.Y {
			if drawable(v, c.LogY) && drawable(s.x(j), c.LogX) {
				shown = append(shown, j)
			}
		}
		name := cmp.Or(s.Name, fmt.Sprintf("series %d", i+1))
		if len(shown) == 0 {
			fmt.Fprintf(&b, " %s: no values.", name)
			continue
		}
		byValue := func(a, b int) int { return cmp.Compare(s.Y[a], s.Y[b]) }
		low, high := slices.MinFunc(shown, byValue), slices.MaxFunc(shown, byValue)
		fmt.Fprintf(&b, " %s: from %s to %s, lowest %s at %s, highest %s at %s.", name,
			Number(s.Y[shown[0]], 4), Number(s.Y[shown[len(shown)-1]], 4),
			Number(s.Y[low], 4), Number(s.x(low), 6), Number(s.Y[high], 4), Number(s.x(high), 6))
	}
	return b.String()
}
