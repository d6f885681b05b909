package compare

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
)

// Table compares the summaries, the best of every column of a point in bold. The wide form, for pages, has more
// columns; scores that no method has are left out.
func (k *Kind) Table(summaries []Summary, wide bool) report.Table {
	several := severalPoints(summaries)
	t := report.Table{Columns: []report.Column{{Name: "method"}}}
	if several {
		t.Columns = append(t.Columns, report.Column{Name: "codes", Align: report.Right})
	}
	shown := slices.DeleteFunc(slices.Clone(k.Measures), func(m table.Measure) bool { return m.Wide && !wide || !measured(summaries, m.Name) })
	for _, m := range shown {
		t.Columns = append(t.Columns, report.Column{Name: m.Title, Align: report.Right, Note: m.Note})
		if m.Name == k.Decides {
			t.Columns = append(t.Columns, report.Column{Name: "from best", Align: report.Right,
				Note: "difference of " + m.Title + " and, over seeds, its 95 % interval; = is a tie"})
		}
	}
	for _, s := range summaries {
		row := []report.Cell{{Text: s.Method, Strong: s.Best() || s.Tied()}}
		if several {
			row = append(row, report.Cell{Text: s.Point.String()})
		}
		if s.Error != "" {
			t.Rows = append(t.Rows, append(row, report.Cell{Text: "failed", Muted: true}))
			continue
		}
		for _, m := range shown {
			row = append(row, report.Cell{Text: m.Text(s.Score(m.Name)), Strong: leads(m, s, summaries)})
			if m.Name == k.Decides {
				row = append(row, report.Cell{Text: s.differenceText()})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func leads(m table.Measure, s Summary, summaries []Summary) bool {
	rivals := []table.Group{s.Group}
	for _, other := range summaries {
		if other.Point == s.Point && other.Method != s.Method {
			rivals = append(rivals, other.Group)
		}
	}
	return m.Marks(rivals, table.Typical(rivals, m.Name))[0] == table.Best
}

// measured says whether any method has the score, or all failed.
func measured(summaries []Summary, name string) bool {
	return slices.ContainsFunc(summaries, func(s Summary) bool { return s.Score(name).N > 0 }) ||
		!slices.ContainsFunc(summaries, func(s Summary) bool { return s.Error == "" })
}

func severalPoints(summaries []Summary) bool {
	return slices.ContainsFunc(summaries, func(s Summary) bool { return s.Point != summaries[0].Point })
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

// Notes are the remarks of records about their scores, each once.
func Notes(summaries []Summary) []string {
	var notes []string
	for _, s := range summaries {
		for _, r := range s.records {
			for _, note := range r.Notes {
				if !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
			}
		}
	}
	return notes
}

// Sheet holds the summaries as plain numbers, for spreadsheets.
func (k *Kind) Sheet(summaries []Summary) report.Table {
	t := report.Table{}
	heads := []string{"method", "codes", "levels", "parts", "rank", "tied", "seeds"}
	for _, m := range k.filed() {
		heads = append(heads, m.Name)
		if !m.Fixed {
			heads = append(heads, m.Name+"_std")
		}
	}
	for _, name := range append(heads, "difference", "difference_low", "difference_high", "p", "error") {
		t.Columns = append(t.Columns, report.Column{Name: name})
	}
	for _, s := range summaries {
		row := report.Cells(s.Method, strconv.Itoa(s.Codes), strconv.Itoa(s.Levels), strconv.Itoa(s.Parts))
		if s.Error != "" {
			row = append(row, make([]report.Cell, len(t.Columns)-len(row)-1)...)
			t.Rows = append(t.Rows, append(row, report.Cell{Text: s.Error}))
			continue
		}
		row = append(row, report.Cells(strconv.Itoa(s.Rank), strconv.FormatBool(s.Tied()), strconv.Itoa(len(s.Seeds)))...)
		for _, m := range k.filed() {
			stat := s.Score(m.Name)
			row = append(row, report.Cell{Text: plain(&stat.Mean)})
			if !m.Fixed {
				row = append(row, report.Cell{Text: plain(&stat.Std)})
			}
		}
		if d := s.Difference; d != nil {
			row = append(row, report.Cells(plain(&d.Mean), plain(d.Low), plain(d.High), plain(d.P))...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
