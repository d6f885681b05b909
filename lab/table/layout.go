package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/report"
)

// Row is a method of a table and the number of seeds planned for it.
type Row struct {
	Method string
	Seeds  int
}

// Plan lists methods with one planned seed each, or more: "grit x 3".
func Plan(methods ...string) []Row {
	rows := make([]Row, len(methods))
	for i, text := range methods {
		rows[i].Seeds = 1
		if n, _ := fmt.Sscanf(text, "%s x %d", &rows[i].Method, &rows[i].Seeds); n == 0 {
			panic("table: a planned row needs a method")
		}
	}
	return rows
}

// Layout arranges groups in tables: a row a method, whether or not it has records.
type Layout struct {
	Rows []Row
	Name func(method string) string // in tables and figures
}

// RowTitle names a row METHOD or METHOD+VARIANT for readers, such as "GRIT-VQ with context".
func RowTitle(row string, method func(name string) string) string {
	name, variant, _ := strings.Cut(row, "+")
	if variant == "" {
		return method(name)
	}
	return method(name) + " with " + variant
}

// With adds the methods of groups that are not planned.
func (l Layout) With(groups []Group) Layout {
	l.Rows = slices.Clone(l.Rows)
	for _, g := range groups {
		if !slices.ContainsFunc(l.Rows, func(r Row) bool { return r.Method == g.Method }) {
			l.Rows = append(l.Rows, Row{g.Method, 1})
		}
	}
	return l
}

func (l Layout) rivals(groups []Group, setting string) []Group {
	list := make([]Group, len(l.Rows))
	for i, r := range l.Rows {
		list[i] = Find(groups, r.Method, setting)
	}
	return list
}

// cells writes rival groups in a measure: the best is bold, ties have an =. Measures without a goal have no deviation.
func (m Measure) cells(rivals []Group, typical float64) []report.Cell {
	cells := make([]report.Cell, len(rivals))
	for i, mark := range m.Marks(rivals, typical) {
		s := rivals[i].Score(m.Name)
		if m.Goal == Neither {
			s.Std = math.NaN()
		}
		if s.N > 0 {
			cells[i] = report.Cell{Text: m.Text(s), Strong: mark == Best}
		}
		if mark == Tied {
			cells[i].Text += " ="
		}
	}
	return cells
}

// Scores compares methods in some measures. The groups have no settings.
func (l Layout) Scores(groups []Group, measures []Measure) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "method", Align: report.Left}, {Name: "seeds", Align: report.Right}}}
	for i, g := range l.rivals(groups, "") {
		n := len(g.Records)
		t.Rows = append(t.Rows, report.Cells(l.Name(g.Method), fmt.Sprintf("%d of %d", n, max(l.Rows[i].Seeds, n))))
	}
	l.addScores(&t, 0, groups, "", measures)
	addColumns(&t, measures)
	return t
}

// BySetting compares methods in some measures at every setting; name heads the column of settings.
func (l Layout) BySetting(groups []Group, measures []Measure, name string, settings []int) report.Table {
	t := report.Table{Columns: []report.Column{{Name: name}, {Name: "method", Align: report.Left}}}
	for _, setting := range settings {
		first, text := len(t.Rows), strconv.Itoa(setting)
		for _, r := range l.Rows {
			t.Rows = append(t.Rows, report.Cells(text, l.Name(r.Method)))
		}
		l.addScores(&t, first, groups, text, measures)
	}
	addColumns(&t, measures)
	return t
}

func (l Layout) addScores(t *report.Table, first int, groups []Group, setting string, measures []Measure) {
	rivals := l.rivals(groups, setting)
	for _, m := range measures {
		for i, cell := range m.cells(rivals, Typical(rivals, m.Name)) {
			t.Rows[first+i] = append(t.Rows[first+i], cell)
		}
	}
}

func addColumns(t *report.Table, measures []Measure) {
	for _, m := range measures {
		t.Columns = append(t.Columns, report.Column{Name: m.Title, Align: report.Right, Note: m.Note})
	}
}

// Sweep compares methods in one measure, a column a setting.
func (l Layout) Sweep(groups []Group, m Measure, settings []int) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "method", Align: report.Left}}}
	for _, r := range l.Rows {
		t.Rows = append(t.Rows, report.Cells(l.Name(r.Method)))
	}
	var all []Group
	for _, setting := range settings {
		all = append(all, l.rivals(groups, strconv.Itoa(setting))...)
	}
	typical := Typical(all, m.Name)
	for j, setting := range settings {
		t.Columns = append(t.Columns, report.Column{Name: report.Count(setting), Align: report.Right})
		for i, cell := range m.cells(all[j*len(l.Rows):][:len(l.Rows)], typical) {
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	return t
}

// Lines are the rows of [Layout.Sweep] for a chart over the settings.
func (l Layout) Lines(groups []Group, m Measure, settings []int) []report.Series {
	return l.lines(groups, m, settings, func(_ Group, setting int) float64 { return float64(setting) })
}

// Curves are lines of one measure over another, with a point a setting.
func (l Layout) Curves(groups []Group, over, m Measure, settings []int) []report.Series {
	return l.lines(groups, m, settings, func(g Group, _ int) float64 { return over.scale() * g.Score(over.Name).Mean })
}

func (l Layout) lines(groups []Group, m Measure, settings []int, x func(g Group, setting int) float64) []report.Series {
	var lines []report.Series
	for _, r := range l.Rows {
		line := report.Series{Name: l.Name(r.Method)}
		for _, setting := range settings {
			g := Find(groups, r.Method, strconv.Itoa(setting))
			if s := g.Score(m.Name); s.N > 0 {
				line.Add(x(g, setting), m.scale()*s.Mean)
			}
		}
		if len(line.X) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}
