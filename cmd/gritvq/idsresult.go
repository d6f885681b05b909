package main

import (
	"fmt"
	"path/filepath"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
)

// idsResult is what ids --json prints.
type idsResult struct {
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
	catalogue.Stats
}

// resultOf summarises a table, of which added items are new.
func resultOf(dir string, k coder, t *catalogue.Table, added int) idsResult {
	stats := t.Stats()
	r := idsResult{Output: dir, Report: filepath.Join(dir, idsReport), Tokenizer: k.describe(), Items: t.Len(), Added: added, Version: t.Version(),
		Width: t.Width(), Vocab: t.Vocab(), Before: stats.Before.Rate, After: stats.After.Rate, Largest: stats.Before.Largest, Stats: stats}
	for _, p := range stats.Positions[:t.Levels()] {
		r.Utilization += p.Utilization / float64(t.Levels())
	}
	return r
}

// crowded is the collision rate from which IDs say little of what they stand for.
const crowded = 0.5

// showIDs prints what a table looks like.
func showIDs(s *cli.Streams, asJSON bool, dir string, k coder, t *catalogue.Table, added int) error {
	r := resultOf(dir, k, t, added)
	if asJSON {
		return s.WriteJSON(r)
	}
	if err := positionsTable(t, r.Stats).Text(s.Out); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "\n%s: %s, version %d\ncollision rate: %s before, %s after; %s of the items share their codes, at most %d the same\nreport: %s\n",
		dir, report.Counted(t.Len(), "item"), t.Version(), report.Percent(r.Before, 2), report.Percent(r.After, 2), report.Percent(r.Stats.Before.Sharing, 2), r.Largest, r.Report)
	if r.Before > crowded {
		s.Remark("note: %s of the items share their codes, which say little then; more --codes or --levels tell items apart, if their embeddings do", report.Percent(r.Stats.Before.Sharing, 0))
	}
	if r.After > 0 {
		s.Remark("%s of the items share an ID: no last code was free; --resolve token tells them apart, more codes or levels keep them so", report.Percent(r.Stats.After.Sharing, 2))
	}
	return nil
}

// positionsTable shows how the values of each position are used.
func positionsTable(t *catalogue.Table, stats catalogue.Stats) report.Table {
	table := report.Table{Columns: []report.Column{{Name: "position"}, {Name: "codes", Align: report.Right}, {Name: "used", Align: report.Right}, {Name: "perplexity", Align: report.Right}}}
	for i, p := range stats.Positions {
		table.Rows = append(table.Rows, report.Cells(positionTitle(t, i), report.Count(t.Vocab()[i]), report.Percent(p.Utilization, 1), report.Number(p.Perplexity, 4)))
	}
	return table
}

// positionTitle names a position of an ID.
func positionTitle(t *catalogue.Table, position int) string {
	if position == t.Levels() {
		return "token"
	}
	return fmt.Sprintf("level %d", position)
}
