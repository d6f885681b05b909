package table

import (
	"math"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/report"
)

// group makes a group with a score "x" for seeds 1, 2, ...; NaN leaves a seed out.
func group(method string, values ...float64) Group {
	g := Group{Method: method}
	for i, v := range values {
		if !math.IsNaN(v) {
			g.Records = append(g.Records, Record{Method: method, Seed: uint64(i + 1), Scores: Scores{"x": v}})
		}
	}
	return g
}

var (
	higher = Measure{Name: "x", Title: "x", Goal: Higher, Text: Decimals(2)}
	lower  = Measure{Name: "x", Title: "x", Goal: Lower, Text: Decimals(2)}
	none   = math.NaN()
)

func TestTieRule(t *testing.T) {
	resolved := higher
	resolved.Resolution = 0.1
	relative := lower
	relative.Resolution, relative.Relative = 0.05, true
	for _, c := range []struct {
		name   string
		m      Measure
		groups []Group
		want   []Mark
	}{
		// Differences 0.1, 0.1, 0.1: the seeds agree, however much they vary.
		{"always worse", higher, []Group{group("a", 1, 3, 2), group("b", 0.9, 2.9, 1.9)}, []Mark{Best, Unmarked}},
		// Differences 0.1, -0.1, 0.3: the interval is 0.1 ± 0.5.
		{"sometimes worse", higher, []Group{group("a", 1, 3, 2), group("b", 0.9, 3.1, 1.7)}, []Mark{Best, Tied}},
		{"lower is better", lower, []Group{group("a", 1, 3, 2), group("b", 0.9, 3.1, 1.7)}, []Mark{Tied, Best}},
		// Two seeds: the typical deviation is sqrt((0.02 + 0.02)/2) = 0.14.
		{"two seeds, near", higher, []Group{group("a", 1, 1.2), group("b", 0.9, 1.1)}, []Mark{Best, Tied}},
		{"two seeds, far", higher, []Group{group("a", 1, 1.2), group("b", 0.8, 1)}, []Mark{Best, Unmarked}},
		{"one seed among others", higher, []Group{group("a", 1, 1.2), group("b", 0.9), group("c", 0.8)}, []Mark{Best, Tied, Unmarked}},
		{"better on the common seed", higher, []Group{group("a", 1, 3, 3), group("b", 2)}, []Mark{Best, Tied}},
		{"one seed each", higher, []Group{group("a", 1), group("b", 0.95)}, []Mark{Best, Unmarked}},
		{"within the resolution", resolved, []Group{group("a", 1), group("b", 0.95)}, []Mark{Best, Tied}},
		{"relative resolution", relative, []Group{group("a", 2), group("b", 2.09), group("c", 2.11)}, []Mark{Best, Tied, Unmarked}},
		{"no common seed", resolved, []Group{group("a", 1), group("b", none, 0.95)}, []Mark{Best, Unmarked}},
		{"reads the same", higher, []Group{group("a", 1.001), group("b", 1), group("c", 0.5)}, []Mark{Best, Best, Unmarked}},
		{"all read the same", higher, []Group{group("a", 1.001), group("b", 1)}, []Mark{Unmarked, Unmarked}},
		{"alone", higher, []Group{group("a", 1), group("b")}, []Mark{Unmarked, Unmarked}},
		{"no goal", Measure{Name: "x", Text: Decimals(2)}, []Group{group("a", 1), group("b", 2)}, []Mark{Unmarked, Unmarked}},
	} {
		if got := c.m.Marks(c.groups, Typical(c.groups, "x")); !slices.Equal(got, c.want) {
			t.Errorf("%s: marks %v, want %v", c.name, got, c.want)
		}
	}
}

func TestRankSortsAndCompares(t *testing.T) {
	list := lower.Rank([]Group{group("none"), group("b", 2, 4), group("z", 1, 3), group("a", 1, 3)})
	var order []string
	for _, s := range list {
		order = append(order, s.Method)
	}
	if !slices.Equal(order, []string{"a", "z", "b", "none"}) || list[2].Rank != 3 {
		t.Fatalf("order %v", order)
	}
	if d := list[2].Difference; d.Mean != 1 || d.Percent != 50 || d.Seeds != 2 || *d.Low != 1 || list[0].Difference != nil ||
		list[3].Difference != nil {
		t.Errorf("differences %+v", list)
	}
}

func TestScoresCountSeedsAndKeepGaps(t *testing.T) {
	groups := Collect([]Record{
		{Method: "b", Seed: 2, Scores: Scores{"x": 2}}, {Method: "b", Seed: 1, Scores: Scores{"x": 1}},
		{Method: "c", Seed: 1, Scores: Scores{"x": math.Inf(1)}},
	})
	l := Layout{Rows: Plan("a", "b x 3"), Name: func(m string) string { return "method " + m }}.With(groups)
	got := l.Scores(groups, []Measure{higher})
	want := [][]report.Cell{report.Cells("method a", "0 of 1", ""), report.Cells("method b", "2 of 3", "1.50 ± 0.71"),
		report.Cells("method c", "1 of 1", "")}
	if !slices.EqualFunc(got.Rows, want, slices.Equal) {
		t.Errorf("rows %v, want %v", got.Rows, want)
	}
}

func TestSweepsPoolTheirDeviation(t *testing.T) {
	at := func(setting string, g Group) []Record {
		for i := range g.Records {
			g.Records[i].Setting = setting
		}
		return g.Records
	}
	// The deviation 0.14 of setting 1 is that of setting 2000 too.
	groups := Collect(slices.Concat(at("1", group("a", 1, 1.2)), at("1", group("b", 1, 1.2)), at("2000", group("a", 1)),
		at("2000", group("b", 0.9))))
	l := Layout{Rows: Plan("a", "b"), Name: func(m string) string { return m }}
	got := l.Sweep(groups, higher, []int{1, 2000})
	if b := got.Rows[1]; b[2].Text != "0.90 =" || got.Columns[2].Name != "2,000" || !got.Rows[0][2].Strong {
		t.Errorf("table %+v", got)
	}
	if lines := l.Lines(groups, higher, []int{1, 2000}); len(lines) != 2 || !slices.Equal(lines[1].X, []float64{1, 2000}) ||
		lines[1].Y[1] != 0.9 {
		t.Errorf("lines %+v", lines)
	}
	both := l.BySetting(groups, []Measure{higher}, "codes", []int{1, 2000})
	if len(both.Rows) != 4 || both.Rows[3][2].Text != "0.90" || both.Rows[2][0].Text != "2000" {
		t.Errorf("by setting %+v", both)
	}
}
