package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
)

// measure is a score of runs, a column of tables.
type measure[R tableRun] struct {
	title    string
	decimals int
	percent  bool
	goal     float64 // 1: higher is better, -1: lower, 0: neither
	of       func(R) float64
}

// sample is a measure over the seeds of a cell.
type sample struct {
	mean, std float64 // std is NaN for one seed
	n         int     // 0: not measured
}

func sampleOf[R tableRun](runs []R, m measure[R]) sample {
	var values []float64
	for _, r := range runs {
		if value := m.of(r); !math.IsNaN(value) && !math.IsInf(value, 0) {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return sample{mean: math.NaN(), std: math.NaN()}
	}
	mean, std := eval.MeanStd(values)
	return sample{mean, std, len(values)}
}

// text writes a sample; one that was not measured is empty.
func (m measure[R]) text(s sample) string {
	if s.n == 0 {
		return ""
	}
	text := m.number(s.mean)
	if !math.IsNaN(s.std) && m.goal != 0 {
		text += " ± " + m.number(s.std)
	}
	if m.percent {
		text += " %"
	}
	return text
}

// number writes a value with the measure's decimals.
func (m measure[R]) number(x float64) string {
	if m.percent {
		x *= 100
	}
	return strconv.FormatFloat(x, 'f', m.decimals, 64)
}

// pooled is the typical deviation over seeds: the root mean square of those that
// are known, 0 where none is.
func pooled(samples []sample) float64 {
	sum, n := 0.0, 0
	for _, s := range samples {
		if s.n > 1 {
			sum += s.std * s.std
			n++
		}
	}
	return math.Sqrt(sum / float64(max(1, n)))
}

// column writes rival samples of a measure: the best is strong, and what reads
// the same; what is tied with it has an =. A sample alone is no best. typical is
// the deviation of a sample that has none of its own.
func (m measure[R]) column(rivals []sample, typical float64) []report.Cell {
	best, present := -1, 0
	for i, s := range rivals {
		if s.n > 0 {
			present++
		}
		if s.n > 0 && m.goal != 0 && (best < 0 || m.goal*s.mean > m.goal*rivals[best].mean) {
			best = i
		}
	}
	deviation := func(s sample) float64 {
		if s.n > 1 {
			return s.std
		}
		return typical
	}
	cells := make([]report.Cell, len(rivals))
	for i, s := range rivals {
		cells[i].Text = m.text(s)
		switch {
		case best < 0 || s.n == 0 || present < 2:
		case m.number(s.mean) == m.number(rivals[best].mean):
			cells[i].Strong = true
		case math.Abs(s.mean-rivals[best].mean) <= math.Max(deviation(s), deviation(rivals[best])):
			cells[i].Text += " ="
		}
	}
	return cells
}

// contestant is a row of a table: a method and the seeds it is to have.
type contestant struct {
	method string
	seeds  int
}

// once lists methods of which one seed is planned.
func once(methods ...string) []contestant {
	var rows []contestant
	for _, m := range methods {
		rows = append(rows, contestant{m, 1})
	}
	return rows
}

// of selects the runs of a method.
func of[R tableRun](runs []R, method string, more func(R) bool) []R {
	var chosen []R
	for _, r := range runs {
		if r.method() == method && more(r) {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

func always[R tableRun](R) bool { return true }

// withOthers adds the methods that were run without being planned.
func withOthers[R tableRun](planned []contestant, runs []R) []contestant {
	rows := slices.Clone(planned)
	for _, r := range runs {
		if !slices.ContainsFunc(rows, func(c contestant) bool { return c.method == r.method() }) {
			rows = append(rows, contestant{r.method(), 1})
		}
	}
	return rows
}

// scoreTable compares methods in some measures, a row each. names says what they
// are called.
func scoreTable[R tableRun](runs []R, rows []contestant, measures []measure[R], names func(string) string) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "method", Align: report.Left}, {Name: "seeds", Align: report.Right}}}
	for _, c := range rows {
		n := len(of(runs, c.method, always))
		t.Rows = append(t.Rows, report.Cells(names(c.method), fmt.Sprintf("%d of %d", n, max(c.seeds, n))))
	}
	for _, m := range measures {
		t.Columns = append(t.Columns, report.Column{Name: m.title, Align: report.Right})
		rivals := make([]sample, len(rows))
		for i, c := range rows {
			rivals[i] = sampleOf(of(runs, c.method, always), m)
		}
		for i, cell := range m.column(rivals, pooled(rivals)) {
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	return t
}

// sweep is a measure of rows at several sizes.
type sweep[R tableRun] struct {
	measure measure[R]
	rows    []contestant
	names   func(string) string
	sizes   []int
	size    func(R) int
}

// samples are those [size][row] of the measure, and the typical deviation of all.
func (s sweep[R]) samples(runs []R) ([][]sample, float64) {
	var columns [][]sample
	var all []sample
	for _, size := range s.sizes {
		var rivals []sample
		for _, c := range s.rows {
			rivals = append(rivals, sampleOf(of(runs, c.method, func(r R) bool { return s.size(r) == size }), s.measure))
		}
		columns, all = append(columns, rivals), append(all, rivals...)
	}
	return columns, pooled(all)
}

// table has the sizes as columns.
func (s sweep[R]) table(runs []R) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "method", Align: report.Left}}}
	for _, c := range s.rows {
		t.Rows = append(t.Rows, report.Cells(s.names(c.method)))
	}
	columns, typical := s.samples(runs)
	for j, rivals := range columns {
		t.Columns = append(t.Columns, report.Column{Name: report.Count(s.sizes[j]), Align: report.Right})
		for i, cell := range s.measure.column(rivals, typical) {
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	return t
}

// series are the lines of the table's rows, for a chart.
func (s sweep[R]) series(runs []R) []report.Series {
	scale := 1.0
	if s.measure.percent {
		scale = 100
	}
	columns, _ := s.samples(runs)
	var lines []report.Series
	for i, c := range s.rows {
		line := report.Series{Name: s.names(c.method)}
		for j, rivals := range columns {
			if rivals[i].n > 0 {
				line.X, line.Y = append(line.X, float64(s.sizes[j])), append(line.Y, scale*rivals[i].mean)
			}
		}
		if len(line.X) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// courseLine draws a column of a course against its first, the step.
func courseLine(name string, course [][]*float64, column int, scale float64) report.Series {
	line := report.Series{Name: name}
	for _, moment := range course {
		if value := moment[column]; value != nil {
			line.X, line.Y = append(line.X, *moment[0]), append(line.Y, scale**value)
		}
	}
	return line
}
