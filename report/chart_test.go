package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// drawn parses the body of a drawing.
func drawn(t *testing.T, chart Chart) []*element {
	t.Helper()
	d, err := chart.draw(halfRow)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, "<svg>"+d.body+"</svg>")
}

func number(t *testing.T, e *element, key string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(e.attributes[key], 64)
	if err != nil {
		t.Fatalf("<%s %s>: %v", e.name, key, err)
	}
	return v
}

func TestLinePassesThroughItsPoints(t *testing.T) {
	chart := LineChart{Series: []Series{{Name: "s", X: []float64{0, 5, 10, 20}, Y: []float64{0, 10, math.NaN(), 5}}}}
	f := axis{domain{lo: 0, hi: 20}, 0, 1}
	for _, e := range drawn(t, chart) {
		if e.attributes["data-name"] != "s" {
			continue
		}
		runs := strings.Split(e.attributes["d"], "M")[1:]
		if len(runs) != 2 {
			t.Fatalf("path %q has %d runs, want 2 around the gap", e.attributes["d"], len(runs))
		}
		first, last := strings.Fields(runs[0]), strings.Fields(runs[1])
		at := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }
		left, right := at(first[0]), at(last[0])
		if got, want := (at(first[2])-left)/(right-left), f.pos(5); math.Abs(got-want) > 1e-3 {
			t.Errorf("second point at %.4f of the width, want %.4f", got, want)
		}
		if bottom, top, middle := at(first[1]), at(first[3]), at(last[1]); math.Abs((bottom-middle)/(bottom-top)-0.5) > 1e-3 {
			t.Errorf("heights %g, %g, %g: the last should be half way", bottom, top, middle)
		}
		return
	}
	t.Fatal("no line drawn")
}

// From zero, 90 of 100 stands at nine tenths of the height, and a logarithmic
// axis, which has no zero, is left alone.
func TestLinesFromZero(t *testing.T) {
	heights := func(chart LineChart) (first, second float64) {
		for _, e := range drawn(t, chart) {
			if e.attributes["data-name"] == "s" {
				fields := strings.Fields(strings.TrimPrefix(e.attributes["d"], "M"))
				first, _ = strconv.ParseFloat(fields[1], 64)
				second, _ = strconv.ParseFloat(fields[3], 64)
				return first, second
			}
		}
		t.Fatal("no line drawn")
		return 0, 0
	}
	chart := LineChart{Percent: true, Series: []Series{{Name: "s", Y: []float64{90, 100}}}}
	low, high := heights(chart)
	chart.FromZero = true
	raised, top := heights(chart)
	if top != high || math.Abs((raised-top)/(low-top)-0.1) > 0.02 {
		t.Errorf("90 stands at %g between %g and %g", raised, top, low)
	}
	chart.LogY = true
	if _, err := chart.draw(halfRow); err != nil {
		t.Error(err)
	}
}

func TestBarsAreProportionalToTheirValues(t *testing.T) {
	values := []float64{6, 3, 0, 1}
	var heights []float64
	for _, e := range drawn(t, BarChart{Values: values}) {
		if e.name == "rect" {
			heights = append(heights, number(t, e, "height"))
		}
	}
	if len(heights) != 3 {
		t.Fatalf("%d bars, want 3 that are not zero", len(heights))
	}
	for i, want := range []float64{6, 3, 1} {
		if got := 6 * heights[i] / heights[0]; math.Abs(got-want) > 0.01 {
			t.Errorf("bar %d stands for %.3f, want %g", i, got, want)
		}
	}
}

func TestErrorBarsReachMeanPlusAndMinusSpread(t *testing.T) {
	chart := PointChart{Groups: []string{"a", "b"}, Values: []float64{4, 8}, Errors: []float64{1, 0}}
	var middles []float64
	var low, high float64
	for _, e := range drawn(t, chart) {
		switch {
		case e.name == "circle":
			middles = append(middles, number(t, e, "cy"))
		case e.attributes["class"] == "whisker":
			parts := strings.FieldsFunc(e.attributes["d"], func(r rune) bool { return strings.ContainsRune("MVH ", r) })
			low, _ = strconv.ParseFloat(parts[1], 64)
			high, _ = strconv.ParseFloat(parts[2], 64)
		}
	}
	if len(middles) != 2 {
		t.Fatalf("%d markers", len(middles))
	}
	unit := (middles[0] - middles[1]) / 4
	if math.Abs((low-middles[0])/unit-1) > 0.01 || math.Abs((middles[0]-high)/unit-1) > 0.01 {
		t.Errorf("error bar from %.3f to %.3f around %.3f, want 1 each way (%.3f)", low, high, middles[0], unit)
	}
}

func TestScatterEqualUnits(t *testing.T) {
	// The corners of a 2 by 1 rectangle keep that shape.
	layer := Layer{X: []float64{0, 2, 2, 0}, Y: []float64{0, 0, 1, 1}, Marker: Hollow}
	var x, y []float64
	for _, e := range drawn(t, Scatter{EqualUnits: true, Layers: []Layer{layer}}) {
		if e.name == "circle" {
			x, y = append(x, number(t, e, "cx")), append(y, number(t, e, "cy"))
		}
	}
	if len(x) != 4 {
		t.Fatalf("%d points", len(x))
	}
	if ratio := (x[1] - x[0]) / (y[1] - y[2]); math.Abs(ratio-2) > 0.02 {
		t.Errorf("the rectangle is %.3f times as wide as high, want 2", ratio)
	}
}

func TestScatterDrawsAtMost3000(t *testing.T) {
	n := 20000
	layer := Layer{X: make([]float64, n), Y: make([]float64, n)}
	for i := range n {
		layer.X[i], layer.Y[i] = float64(i), float64(i*i%977)
	}
	dots := 0
	for _, e := range drawn(t, Scatter{Layers: []Layer{layer}}) {
		dots += strings.Count(e.attributes["d"], "h0")
	}
	if dots != scatterPoints {
		t.Errorf("%d dots, want %d", dots, scatterPoints)
	}
}

func TestRankSeries(t *testing.T) {
	s := RankSeries("s", []float64{1, 0, 5, 2})
	if !slices.Equal(s.X, []float64{1, 2, 3, 4}) || !slices.Equal(s.Y, []float64{0.625, 0.25, 0.125, 0}) {
		t.Errorf("x %v, y %v", s.X, s.Y)
	}
	if s := RankSeries("s", []float64{0, 0}); !slices.Equal(s.Y, []float64{0, 0}) {
		t.Errorf("unused codebook: %v", s.Y)
	}
}

func TestLongGroupNamesStayInsideTheDrawing(t *testing.T) {
	chart := PointChart{Values: make([]float64, 12)}
	for range 12 {
		chart.Groups = append(chart.Groups, "a-name-without-any-space-to-break-it-at")
	}
	slanted := 0
	for _, e := range drawn(t, chart) {
		if strings.Contains(e.attributes["transform"], "rotate") {
			slanted++
			if length := textLength(e.text, tickFont); length > longestSlanted+tickFont {
				t.Errorf("label %q is %.0f long", e.text, length)
			}
		}
	}
	if slanted == 0 {
		t.Error("no slanted labels")
	}
}

func TestPercentStaysBelowAHundred(t *testing.T) {
	top := func(percent bool) string {
		var b strings.Builder
		c := LineChart{Title: "use", XLabel: "step", YLabel: "%", Percent: percent,
			Series: []Series{{Name: "codes", Y: []float64{100, 100, 100}}}}
		if err := WriteSVG(&b, c); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if svg := top(true); strings.Contains(svg, ">120<") || strings.Contains(svg, ">150<") || !strings.Contains(svg, ">100<") {
		t.Error("a share of a hundred is drawn on an axis beyond it")
	}
	if svg := top(false); !strings.Contains(svg, ">120<") && !strings.Contains(svg, ">150<") && !strings.Contains(svg, ">140<") {
		t.Error("without Percent a constant opens around its value")
	}
}
