package catalogue

import (
	"fmt"
	"path/filepath"

	"github.com/gritvq/gritvq/report"
)

// Result describes the catalogues that Make wrote.
type Result struct {
	Output     string    `json:"output"`
	Report     string    `json:"report"`
	Catalogues []Summary `json:"catalogues"`
	// Union describes all items of several catalogues whose codes can be compared.
	Union *Stats `json:"union,omitempty"`
}

// Summary describes a catalogue that Make or Add wrote.
type Summary struct {
	Output      string  `json:"output"`
	Report      string  `json:"report"`
	Tokenizer   string  `json:"tokenizer"` // in words
	Items       int     `json:"items"`
	Added       int     `json:"added"`
	Version     int     `json:"version"`
	Width       int     `json:"width"` // positions of an ID
	Vocab       []int   `json:"vocab"`
	Before      float64 `json:"collision_rate_before"`
	After       float64 `json:"collision_rate_after"`
	Largest     int     `json:"largest_group"`
	Utilization float64 `json:"utilization"` // mean over the tokenizer's levels
	Stats
	Catalogue *Catalogue `json:"-"`
}

func (c *Catalogue) summarize(from origin) *Summary {
	stats := c.Stats()
	s := &Summary{
		Output: c.dir, Report: filepath.Join(c.dir, ReportFile), Tokenizer: from.description,
		Items: c.Len(), Added: c.versions[c.Version()-1].Added, Version: c.Version(), Width: c.Width(), Vocab: c.Vocab(),
		Before: stats.Before.Rate, After: stats.After.Rate, Largest: stats.Before.Largest, Stats: stats, Catalogue: c,
	}
	for _, p := range stats.Positions[:c.Levels()] {
		s.Utilization += p.Utilization / float64(c.Levels())
	}
	return s
}

// Table shows how the values of each position of the IDs are used.
func (s *Summary) Table() report.Table { return positionTable(s.Catalogue.Table, s.Stats) }

func positionTable(t *Table, stats Stats) report.Table {
	table := report.Table{Columns: append([]report.Column{{Name: "position"}}, rightAligned("codes", "used", "perplexity")...)}
	for i, p := range stats.Positions {
		table.Rows = append(table.Rows, report.Cells(t.positionName(i), report.Count(t.vocab[i]),
			report.Percent(p.Utilization, 1), report.Number(p.Perplexity, 4)))
	}
	return table
}

func (t *Table) positionName(position int) string {
	if position == t.levels {
		return "token"
	}
	return fmt.Sprintf("level %d", position)
}

func rightAligned(names ...string) []report.Column {
	columns := make([]report.Column, len(names))
	for i, name := range names {
		columns[i] = report.Column{Name: name, Align: report.Right}
	}
	return columns
}

// Table compares several catalogues, in a row each.
func (r *Result) Table() report.Table {
	first := r.Catalogues[0].Catalogue
	t := report.Table{Columns: append([]report.Column{{Name: "catalogue"}}, rightAligned("items", "collisions", "after", "largest")...)}
	for level := range first.Levels() {
		t.Columns = append(t.Columns, rightAligned(first.positionName(level))...)
	}
	add := func(name string, stats Stats) {
		row := report.Cells(name, report.Count(stats.Items), report.Percent(stats.Before.Rate, 2),
			report.Percent(stats.After.Rate, 2), report.Count(stats.Before.Largest))
		for _, p := range stats.Positions[:first.Levels()] {
			row = append(row, report.Cell{Text: report.Percent(p.Utilization, 1)})
		}
		t.Rows = append(t.Rows, row)
	}
	for _, c := range r.Catalogues {
		add(filepath.Base(c.Output), c.Stats)
	}
	if r.Union != nil {
		add("all", *r.Union)
	}
	return t
}
