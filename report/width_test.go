package report

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Deviations and intervals may go to a line of their own, so that wide tables fit.
func TestCellsBreakBeforeDeviations(t *testing.T) {
	page := New("p", "")
	page.Section("s", "", Table{Columns: Columns(Right, "a", "b", "c"), Rows: [][]Cell{
		{{Text: "0.13 ± 0.01"}, {Text: "+1.6% [+0.7, +2.5] =", Strong: true}, {Text: "± 3", Link: "x"}},
	}})
	var out strings.Builder
	if err := page.Render(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<span>0.13 <wbr/>± 0.01</span>", "<strong>+1.6% <wbr/>[+0.7, +2.5] =</strong>", `<a href="x">± 3</a>`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// Tables of many columns are set closer.
func TestWideTables(t *testing.T) {
	for columns, wide := range map[int]bool{wideColumns: false, wideColumns + 1: true} {
		page := New("p", "")
		page.Section("s", "", Table{Columns: Columns(Right, slices.Repeat([]string{"a"}, columns)...)})
		var out strings.Builder
		if err := page.Render(&out); err != nil || strings.Contains(out.String(), `class="table wide"`) != wide {
			t.Errorf("%d columns: %v", columns, err)
		}
	}
}

// Labels of marks stand above the lines of marks, and so above the plot, where no curve crosses them.
func TestMarksAreLabelledAboveThePlot(t *testing.T) {
	chart := LineChart{Title: "t", YLabel: "error", LogY: true, Series: []Series{{Y: []float64{9, 5, 2, 1}}},
		Marks: []Mark{{1, "codes placed"}, {1.1, "another mark beside it"}, {3, "last"}}}
	page := New("p", "")
	page.Section("s", "", chart)
	var out strings.Builder
	if err := page.Render(&out); err != nil {
		t.Fatal(err)
	}
	marks := regexp.MustCompile(`class="mark".*?y1="([\d.]+)".*?<text[^>]* y="([\d.]+)"`).FindAllStringSubmatch(out.String(), -1)
	if len(marks) != 3 {
		t.Fatalf("%d marks", len(marks))
	}
	for _, m := range marks {
		top, _ := strconv.ParseFloat(m[1], 64)
		if label, _ := strconv.ParseFloat(m[2], 64); label >= top {
			t.Errorf("a label at %g lies in the plot, which begins at %g", label, top)
		}
	}
}
