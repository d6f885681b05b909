package report

import (
	"math"
	"strings"
)

// bandLabels are the categories of an x axis: on up to two level lines, or slanted
// if they are too long.
type bandLabels struct {
	lines   [][]string
	slanted bool
}

const longestSlanted = 130.0

// layBands decides how the labels are written and makes room for them.
func (f *frame) layBands() bandLabels {
	if f.bands == nil {
		return bandLabels{}
	}
	width := (f.right-f.left)/float64(len(f.bands)) - 8
	labels := bandLabels{}
	most := 1
	for _, label := range f.bands {
		lines, ok := wrapLabel(label, width)
		labels.slanted = labels.slanted || !ok
		most = max(most, len(lines))
		labels.lines = append(labels.lines, lines)
	}
	if !labels.slanted {
		f.bottom -= float64(most-1) * 14
		return labels
	}
	deepest := 0.0
	for i, label := range f.bands {
		text := fitText(label, longestSlanted, tickFont)
		labels.lines[i] = []string{text}
		length := textLength(text, tickFont)
		deepest = math.Max(deepest, length*slantSin)
		// The text runs down to the left and must not leave the drawing.
		middle := f.left + (float64(i)+0.5)*(f.right-f.left)/float64(len(f.bands))
		if over := length*slantCos + 4 - middle; over > 0 {
			f.left += over
		}
	}
	f.bottom -= math.Max(0, deepest-6)
	return labels
}

// The slant of long labels, 35 degrees.
var slantSin, slantCos = math.Sincos(35 * math.Pi / 180)

func (l bandLabels) draw(f *frame) {
	width := (f.right - f.left) / float64(len(f.bands))
	every := 1
	if l.slanted {
		every = max(1, int(math.Ceil(15/width))) // lines of text side by side
	}
	for i, lines := range l.lines {
		if i%every != 0 {
			continue
		}
		x := f.left + (float64(i)+0.5)*width
		if l.slanted {
			f.element("text", lines[0], "class", "tick", "text-anchor", "end",
				"transform", "translate("+px(x+4)+" "+px(f.bottom+14)+") rotate(-35)")
			continue
		}
		for row, line := range lines {
			f.element("text", line, "class", "tick", "text-anchor", "middle", "x", px(x), "y", px(f.bottom+19+14*float64(row)))
		}
	}
}

// wrapLabel breaks s at spaces into at most two lines of the given width.
func wrapLabel(s string, width float64) ([]string, bool) {
	if textLength(s, tickFont) <= width {
		return []string{s}, true
	}
	words := strings.Fields(s)
	for n := len(words) - 1; n >= 1; n-- {
		first, second := strings.Join(words[:n], " "), strings.Join(words[n:], " ")
		if textLength(first, tickFont) <= width {
			return []string{first, second}, textLength(second, tickFont) <= width
		}
	}
	return []string{s}, false
}
