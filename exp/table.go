package exp

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/gritvq/gritvq/report"
)

// column is one score of the comparison table.
type column struct {
	name string
	note string
	wide bool // only on the page
	text func(s Summary) string
	// better says that a beats b, to make the best of the column stand out;
	// nil where no value is better.
	better func(a, b Summary) bool
}

var columns = []column{
	{name: "bits", note: "of a vector's codes", text: func(s Summary) string { return report.Number(s.BitsPerVector, 4) }},
	{name: "error", note: "relative, held out: 0 is perfect, 1 is answering with the mean",
		text:   func(s Summary) string { return spread(s.RelativeError, 4) },
		better: func(a, b Summary) bool { return a.RelativeError.Mean < b.RelativeError.Mean }},
	{name: "from best", note: "difference of the error and, over seeds, its 95 % interval; = is a tie", text: differenceText},
	{name: "mse", wide: true, text: func(s Summary) string { return spread(s.MSE, 4) },
		better: func(a, b Summary) bool { return a.MSE.Mean < b.MSE.Mean }},
	{name: "cosine", text: func(s Summary) string { return spread(s.Cosine, 4) },
		better: func(a, b Summary) bool { return a.Cosine.Mean > b.Cosine.Mean }},
	{name: "recall@10", note: "of the 10 nearest originals, searching decoded vectors",
		text:   func(s Summary) string { return spread(s.Recall, 3) },
		better: func(a, b Summary) bool { return a.Recall.Mean > b.Recall.Mean }},
	{name: "used", note: "share of the codes that some row of the file uses", text: func(s Summary) string { return report.Percent(s.Utilization.Mean, 1) },
		better: func(a, b Summary) bool { return a.Utilization.Mean > b.Utilization.Mean }},
	{name: "used, held out", wide: true, text: func(s Summary) string { return report.Percent(s.UtilizationHeld.Mean, 1) }},
	{name: "perplexity", text: func(s Summary) string { return report.Number(s.Perplexity.Mean, 4) }},
	{name: "dead", note: "codes that no row of the file uses", text: func(s Summary) string { return report.Number(s.DeadCodes.Mean, 3) }},
	{name: "trained in", text: func(s Summary) string {
		return report.Duration(time.Duration(s.TrainSeconds.Mean * float64(time.Second)))
	}},
	{name: "encode/s", text: func(s Summary) string { return report.Short(s.EncodeRate.Mean, 3) }},
	{name: "decode/s", text: func(s Summary) string { return report.Short(s.DecodeRate.Mean, 3) }},
	{name: "parameters", text: func(s Summary) string { return report.Short(float64(s.Parameters), 3) }},
}

// spread writes a score with its deviation where there is one.
func spread(s Stat, digits int) string {
	if math.IsNaN(s.Std) {
		return report.Number(s.Mean, digits)
	}
	return report.PlusMinus(s.Mean, s.Std)
}

// differenceText is "best", "+2.70%" or "+2.70% [+1.02, +4.35]"; ties have an =.
func differenceText(s Summary) string {
	if s.Best {
		return "best"
	}
	d := s.Difference
	if d == nil {
		return "no common seed"
	}
	text := fmt.Sprintf("%+.2f%%", d.Percent)
	if d.Low != nil && d.Mean != 0 {
		scale := d.Percent / d.Mean
		text += fmt.Sprintf(" [%+.2f, %+.2f]", scale**d.Low, scale**d.High)
	}
	if s.Tied {
		text += " ="
	}
	return text
}

// Table compares the summaries, as [Summarize] sorts them: one row each, the
// best of every column of a point standing out. The wide form, for pages, has
// more columns. [Failures] says why methods failed.
func Table(summaries []Summary, wide bool) report.Table {
	several := severalPoints(summaries)
	t := report.Table{Columns: []report.Column{{Name: "method"}}}
	if several {
		t.Columns = append(t.Columns, report.Column{Name: "codes", Align: report.Right})
	}
	var shown []column
	for _, c := range columns {
		if c.wide && !wide {
			continue
		}
		shown = append(shown, c)
		t.Columns = append(t.Columns, report.Column{Name: c.name, Align: report.Right, Note: c.note})
	}
	for _, s := range summaries {
		row := []report.Cell{{Text: s.Method, Strong: s.Best || s.Tied}}
		if several {
			row = append(row, report.Cell{Text: s.Point.String()})
		}
		if s.Error != "" {
			row = append(row, report.Cell{Text: "failed", Muted: true})
		} else {
			for _, c := range shown {
				row = append(row, report.Cell{Text: c.text(s), Strong: c.leads(s, summaries)})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func severalPoints(summaries []Summary) bool {
	for _, s := range summaries {
		if s.Point != summaries[0].Point {
			return true
		}
	}
	return false
}

// Failures says in a line each which methods failed, and why.
func Failures(summaries []Summary) []string {
	several := severalPoints(summaries)
	var lines []string
	for _, s := range summaries {
		name := s.Method
		if several {
			name += ", " + s.Point.String()
		}
		for _, f := range s.Failures {
			lines = append(lines, fmt.Sprintf("%s failed with seed %d: %s", name, f.Seed, f.Error))
		}
		if s.Error != "" {
			lines = append(lines, fmt.Sprintf("%s failed: %s", name, s.Error))
		}
	}
	return lines
}

// leads says whether no method of the point beats s in the column.
func (c column) leads(s Summary, summaries []Summary) bool {
	if c.better == nil {
		return false
	}
	for _, other := range summaries {
		if other.Point == s.Point && other.Error == "" && c.better(other, s) {
			return false
		}
	}
	return true
}

// Sheet holds the summaries as plain numbers, for spreadsheets: means and
// standard deviations in columns of their own, empty where there is none.
func Sheet(summaries []Summary) report.Table {
	t := report.Table{}
	for _, name := range []string{"method", "codes", "levels", "parts", "rank", "tied", "seeds", "bits_per_vector", "parameters"} {
		t.Columns = append(t.Columns, report.Column{Name: name})
	}
	for _, m := range measures {
		t.Columns = append(t.Columns, report.Column{Name: m.name}, report.Column{Name: m.name + "_std"})
	}
	for _, name := range []string{"difference", "difference_low", "difference_high", "p", "error"} {
		t.Columns = append(t.Columns, report.Column{Name: name})
	}
	for _, s := range summaries {
		row := report.Cells(s.Method, strconv.Itoa(s.Codes), strconv.Itoa(s.Levels), strconv.Itoa(s.Parts))
		if s.Error != "" {
			for len(row) < len(t.Columns)-1 {
				row = append(row, report.Cell{})
			}
			t.Rows = append(t.Rows, append(row, report.Cell{Text: s.Error}))
			continue
		}
		row = append(row, report.Cells(strconv.Itoa(s.Rank), strconv.FormatBool(s.Tied), strconv.Itoa(len(s.Seeds)), plain(s.BitsPerVector), strconv.Itoa(s.Parameters))...)
		for _, m := range measures {
			stat := m.in(&s)
			row = append(row, report.Cells(plain(stat.Mean), plain(stat.Std))...)
		}
		d := s.Difference
		if d == nil {
			d = &Difference{Mean: math.NaN()}
		}
		row = append(row, report.Cells(plain(d.Mean), optional(d.Low), optional(d.High), optional(d.P))...)
		t.Rows = append(t.Rows, row)
	}
	return t
}

// plain writes a number in full, and nothing for one that is not finite.
func plain(x float64) string { return optional(finite(x)) }

func optional(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}
