package compare

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// Kind is a kind of comparison, of vectors or of pictures: its measures, the one that ranks, and its texts.
type Kind struct {
	Items    string          // "vectors" or "pictures"
	Measures []table.Measure // of a record's scores, in the order of tables
	Decides  string          // the measure that ranks
	Unit     string          // of differences in it; "" gives them in percent of the best
	Rate     string          // the measure along which sizes of code are drawn
	Charts   []Panel         // of every method, point by point
	Curves   []Panel         // over the rate
	Course   Panel           // the held-out score over training; Measure is not read
	held     func(vqtrain.HeldRecord) float64
	// score adds to a record the scores of a trained cell.
	score    func(ctx context.Context, s *subject, t trained, r *Record) error
	fairness string // conditions common to all methods
	healthy  string // how to read the use of codes
}

// Panel describes a chart of a measure.
type Panel struct {
	Measure string
	Title   string
	Caption string
	Label   string // of the axis
	Log     bool
	Percent bool // the measure is a fraction
}

var usedOverRate = Panel{Measure: "utilization", Title: "Codes in use", Label: "share of codes used (%)", Percent: true,
	Caption: "A line that falls is a method that cannot fill larger codebooks."}

func (p Panel) scale() float64 {
	if p.Percent {
		return 100
	}
	return 1
}

func (p Panel) chart(over string) report.LineChart {
	return report.LineChart{Title: p.Title, Caption: p.Caption, XLabel: over, YLabel: p.Label, LogY: p.Log, Percent: p.Percent}
}

func (k *Kind) deciding() table.Measure {
	return k.Measures[slices.IndexFunc(k.Measures, func(m table.Measure) bool { return m.Name == k.Decides })]
}

// filed are the measures in the order of files: the fixed ones first.
func (k *Kind) filed() []table.Measure {
	fixed := slices.DeleteFunc(slices.Clone(k.Measures), func(m table.Measure) bool { return !m.Fixed })
	return append(fixed, slices.DeleteFunc(slices.Clone(k.Measures), func(m table.Measure) bool { return m.Fixed })...)
}

// brief is a finished cell such as "error 0.358, 99.8% of codes used".
func (k *Kind) brief(r Record) string {
	return fmt.Sprintf("%s, %s of codes used", k.decided(table.Stat{Mean: r.Scores[k.Decides], Std: math.NaN(), N: 1}),
		report.Percent(r.Scores["utilization"], 1))
}

// decided words the score that ranks, such as "psnr 26.20 ± 0.05 dB".
func (k *Kind) decided(s table.Stat) string {
	m := k.deciding()
	if k.Unit != "" {
		return m.Title + " " + m.Text(s) + " " + k.Unit
	}
	return m.Title + " " + m.Text(s)
}

// Table compares the summaries, the best of every column of a point in bold. Classical methods come first at every
// point: they are the reference of trained ones. The wide form, for pages, has more columns; scores that no method has
// are left out.
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
	for _, s := range referencesFirst(summaries) {
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

// referencesFirst moves classical methods to the front of their point.
func referencesFirst(summaries []Summary) []Summary {
	var sorted []Summary
	for len(summaries) > 0 {
		end := slices.IndexFunc(summaries, func(s Summary) bool { return s.Point != summaries[0].Point })
		if end < 0 {
			end = len(summaries)
		}
		for _, classical := range []bool{true, false} {
			for _, s := range summaries[:end] {
				if vq.Classical(s.Method) == classical {
					sorted = append(sorted, s)
				}
			}
		}
		summaries = summaries[end:]
	}
	return sorted
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
