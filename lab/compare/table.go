package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gritvq/gritvq/report"
)

// differenceText is "best", "+2.70%" or "+2.70% [+1.02, +4.35]", with units in
// place of percent where the kind has one; ties have an =.
func differenceText(s Summary) string {
	if s.Best {
		return "best"
	}
	d := s.Difference
	if d == nil {
		return "no common seed"
	}
	value, unit, scale := d.Percent, "%", 0.0
	if d.Mean != 0 {
		scale = d.Percent / d.Mean
	}
	if s.kind.Decide.Unit != "" {
		value, unit, scale = d.Mean, " "+s.kind.Decide.Unit, 1
	}
	text := fmt.Sprintf("%+.2f%s", value, unit)
	if d.Low != nil && d.Mean != 0 {
		text += fmt.Sprintf(" [%+.2f, %+.2f]", scale**d.Low, scale**d.High)
	}
	if s.Tied {
		text += " ="
	}
	return text
}

// Table compares the summaries, as [Kind.Summarize] sorts them: one row each,
// the best of every column of a point standing out. The wide form, for pages,
// has more columns; scores that no method has are left out. [Failures] says why
// methods failed.
func (k *Kind) Table(summaries []Summary, wide bool) report.Table {
	several := severalPoints(summaries)
	t := report.Table{Columns: []report.Column{{Name: "method"}}}
	if several {
		t.Columns = append(t.Columns, report.Column{Name: "codes", Align: report.Right})
	}
	var shown []Measure
	for _, m := range k.Measures {
		if m.Wide && !wide || !measured(summaries, m.Name) {
			continue
		}
		shown = append(shown, m)
		t.Columns = append(t.Columns, report.Column{Name: m.Title, Align: report.Right, Note: m.Note})
		if m.Name == k.Decide.Measure {
			t.Columns = append(t.Columns, report.Column{Name: "from best", Align: report.Right, Note: "difference of " + m.Title + " and, over seeds, its 95 % interval; = is a tie"})
		}
	}
	for _, s := range summaries {
		row := []report.Cell{{Text: s.Method, Strong: s.Best || s.Tied}}
		if several {
			row = append(row, report.Cell{Text: s.Point.String()})
		}
		if s.Error != "" {
			t.Rows = append(t.Rows, append(row, report.Cell{Text: "failed", Muted: true}))
			continue
		}
		for _, m := range shown {
			row = append(row, report.Cell{Text: m.Text(s.Score(m.Name)), Strong: m.leads(s, summaries)})
			if m.Name == k.Decide.Measure {
				row = append(row, report.Cell{Text: differenceText(s)})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// measured says whether any method has the score. Where none worked at all, it
// is not known to be missing.
func measured(summaries []Summary, name string) bool {
	worked := false
	for _, s := range summaries {
		if _, has := s.Scores[name]; has {
			return true
		}
		worked = worked || s.Error == ""
	}
	return !worked
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

// Notes are what the records say about reading the scores, each once.
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

// leads says whether s stands out in the measure: no method of the point beats it,
// and it beats one.
func (m Measure) leads(s Summary, summaries []Summary) bool {
	mine, measured := s.Scores[m.Name]
	if m.Goal == Neither || !measured {
		return false
	}
	beaten := false
	for _, other := range summaries {
		theirs, measured := other.Scores[m.Name]
		if other.Point != s.Point || !measured {
			continue
		}
		if m.Goal.beats(theirs.Mean, mine.Mean) {
			return false
		}
		beaten = beaten || m.Goal.beats(mine.Mean, theirs.Mean)
	}
	return beaten
}

// Sheet holds the summaries as plain numbers, for spreadsheets: means and
// standard deviations in columns of their own, empty where there is none.
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
			for len(row) < len(t.Columns)-1 {
				row = append(row, report.Cell{})
			}
			t.Rows = append(t.Rows, append(row, report.Cell{Text: s.Error}))
			continue
		}
		row = append(row, report.Cells(strconv.Itoa(s.Rank), strconv.FormatBool(s.Tied), strconv.Itoa(len(s.Seeds)))...)
		for _, m := range k.filed() {
			row = append(row, report.Cell{Text: plain(s.Score(m.Name).Mean)})
			if !m.Fixed {
				row = append(row, report.Cell{Text: plain(s.Score(m.Name).Std)})
			}
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
