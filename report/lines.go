package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// mostMarked is the number of points up to which each gets a marker.
const mostMarked = 24

// seriesClass names the colour of series i; the palette repeats.
func seriesClass(i int) string { return fmt.Sprintf("s%d", i%len(lightColours.series)) }

// lineClass is seriesClass with another dash pattern on each repetition.
func lineClass(i int) string {
	return seriesClass(i) + []string{"", " dashed", " dotted"}[i/len(lightColours.series)%3]
}

// drawLine draws one series: the thinned line, and markers on all points if there
// are few, otherwise on points without neighbours.
func (f *frame) drawLine(number int, s Series) {
	ok := func(i int) bool { return drawable(s.x(i), f.x.log) && drawable(s.Y[i], f.y.log) }
	picked := thinLine(len(s.Y), linePoints, ok,
		func(i int) float64 { return s.Y[i] }, func(i int) float64 { return f.x.at(s.x(i)) })
	if len(picked) == 0 {
		return
	}
	var path strings.Builder
	var alone []int
	start := true
	for at, i := range picked {
		if i < 0 {
			start = true
			continue
		}
		if start {
			path.WriteByte('M')
			if at+1 == len(picked) || picked[at+1] < 0 {
				alone = append(alone, i)
			}
		} else {
			path.WriteByte(' ')
		}
		start = false
		path.WriteString(px(f.x.pos(s.x(i))) + " " + px(f.y.pos(s.Y[i])))
	}
	f.open("g", "class", lineClass(number))
	f.empty("path", "class", "line", "data-name", cmp.Or(s.Name, "value"), "d", path.String())
	if len(picked) <= mostMarked {
		alone = picked
	}
	for _, i := range alone {
		if i >= 0 {
			drawMarker(&f.markup, number, f.x.pos(s.x(i)), f.y.pos(s.Y[i]), 3)
		}
	}
	f.close("g")
}

// drawMarker draws a filled marker whose shape tells series apart without
// colour: circle, square, diamond, triangle.
func drawMarker(m *markup, number int, x, y, r float64) {
	corners := markerCorners[number%len(markerCorners)]
	if corners == nil {
		m.empty("circle", "class", "fill", "cx", px(x), "cy", px(y), "r", px(r))
		return
	}
	var points []string
	for _, at := range corners {
		points = append(points, px(x+at[0]*r)+" "+px(y+at[1]*r))
	}
	m.empty("path", "class", "fill", "d", "M"+strings.Join(points, " ")+"Z")
}

// markerCorners are the markers' corners in radii; the first is a circle.
var markerCorners = [][][2]float64{
	nil,
	{{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}},
	{{0, -1.35}, {1.35, 0}, {0, 1.35}, {-1.35, 0}},
	{{0, -1.25}, {1.2, 0.9}, {-1.2, 0.9}},
}

// drawBand fills between Low and High. Long bands are summarised by the
// extremes of each slot, so the band never looks narrower than it is.
func (f *frame) drawBand(number int, s Series) {
	if s.Low == nil {
		return
	}
	ok := func(i int) bool {
		return drawable(s.x(i), f.x.log) && drawable(s.Low[i], f.y.log) && drawable(s.High[i], f.y.log)
	}
	perSlot := max(1, int(math.Ceil(float64(len(s.Y))/(linePoints/2))))
	var upper, lower []string
	f.open("g", "class", seriesClass(number))
	flush := func() {
		if len(upper) > 1 {
			slices.Reverse(lower)
			f.empty("path", "class", "band", "d", "M"+strings.Join(append(upper, lower...), " ")+"Z")
		}
		upper, lower = nil, nil
	}
	for from := 0; from < len(s.Y); from += perSlot {
		first, low, high := -1, 0.0, 0.0
		for i := from; i < min(from+perSlot, len(s.Y)); i++ {
			switch {
			case !ok(i):
			case first < 0:
				first, low, high = i, s.Low[i], s.High[i]
			default:
				low, high = math.Min(low, s.Low[i]), math.Max(high, s.High[i])
			}
		}
		if first < 0 {
			flush()
			continue
		}
		x := px(f.x.pos(s.x(first)))
		upper = append(upper, x+" "+px(f.y.pos(high)))
		lower = append(lower, x+" "+px(f.y.pos(low)))
	}
	flush()
	f.close("g")
}

// drawMarks draws the vertical markers; labels that would overlap go to further
// rows, and are left out once the rows are full.
func (f *frame) drawMarks(marks []Mark) {
	ends := slices.Repeat([]float64{math.Inf(-1)}, int(f.above/14))
	for _, mark := range marks {
		if !drawable(mark.X, f.x.log) {
			continue
		}
		x := f.x.pos(mark.X)
		f.open("g", "class", "mark")
		f.element("title", mark.Label)
		f.empty("line", "x1", px(x), "x2", px(x), "y1", px(f.top), "y2", px(f.bottom))
		text := fitText(mark.Label, 150, tickFont)
		width := textLength(text, tickFont)
		from, anchor, at := x+4, "start", x+4
		if from+width > f.right {
			from, anchor, at = x-4-width, "end", x-4
		}
		for row := range ends {
			if from > ends[row]+6 {
				ends[row] = from + width
				f.element("text", text, "x", px(at), "y", px(f.top-f.above+10+14*float64(row)), "text-anchor", anchor)
				break
			}
		}
		f.close("g")
	}
}
