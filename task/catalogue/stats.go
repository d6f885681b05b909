package catalogue

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
)

// Collisions counts items that share their codes or IDs.
type Collisions struct {
	Distinct int     `json:"distinct"` // sequences in use
	Rate     float64 `json:"rate"`     // 1 - Distinct / items
	Sharing  float64 `json:"sharing"`  // part of the items that share theirs
	Largest  int     `json:"largest"`  // items of one sequence
}

// GroupSize counts the sequences that a number of items share.
type GroupSize struct {
	Size   int `json:"size"`
	Groups int `json:"groups"`
}

// Stats describes a table.
type Stats struct {
	Items   int        `json:"items"`
	Version int        `json:"version"`
	Before  Collisions `json:"before"` // of the tokenizer's codes
	After   Collisions `json:"after"`  // of the IDs
	// Groups are the sizes of groups of items with equal codes, the smallest first.
	Groups    []GroupSize       `json:"groups"`
	Positions []eval.UsageStats `json:"positions"` // the last is the token, if there is one
}

// Stats summarises the table.
func (t *Table) Stats() Stats {
	s := Stats{Items: t.Len(), Version: t.Version()}
	groups := t.groups(t.Codes)
	s.Before, s.After = collisions(groups), collisions(t.groups(t.ID))
	for _, rows := range slices.Backward(groups) {
		if n := len(s.Groups); n == 0 || s.Groups[n-1].Size != len(rows) {
			s.Groups = append(s.Groups, GroupSize{Size: len(rows)})
		}
		s.Groups[len(s.Groups)-1].Groups++
	}
	usage, err := eval.NewUsage(t.vocab)
	if err == nil {
		err = usage.Add(t.ids, t.Width())
	}
	if err != nil {
		panic("catalogue: a table holds a code outside its vocabulary: " + err.Error())
	}
	for position := range t.vocab {
		s.Positions = append(s.Positions, usage.Level(position))
	}
	return s
}

// Codes returns the tokenizer's codes of a row, [Levels]. The caller must not modify them.
func (t *Table) Codes(row int) []uint32 {
	own := t.ID(row)[:t.levels:t.levels]
	if t.moves() {
		own = slices.Clone(own)
		own[t.levels-1] = t.original[row]
	}
	return own
}

// groups returns the rows of every distinct sequence, ascending, the largest group first.
func (t *Table) groups(sequence func(row int) []uint32) [][]int {
	members := map[string][]int{} // by packed codes
	var packed []byte
	for row := range t.Len() {
		packed = pack(packed[:0], sequence(row))
		members[string(packed)] = append(members[string(packed)], row)
	}
	return slices.SortedFunc(maps.Values(members), func(a, b []int) int {
		return cmp.Or(len(b)-len(a), a[0]-b[0])
	})
}

func collisions(groups [][]int) Collisions {
	c := Collisions{Distinct: len(groups), Largest: len(groups[0])}
	items, sharing := 0, 0
	for _, rows := range groups {
		items += len(rows)
		if len(rows) > 1 {
			sharing += len(rows)
		}
	}
	c.Rate = 1 - float64(c.Distinct)/float64(items)
	c.Sharing = float64(sharing) / float64(items)
	return c
}

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
	table := report.Table{Columns: append([]report.Column{{Name: "position"}}, report.Columns(report.Right, "codes", "used", "perplexity")...)}
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

// Table compares several catalogues, in a row each.
func (r *Result) Table() report.Table {
	first := r.Catalogues[0].Catalogue
	names := []string{"items", "collisions", "after", "largest"}
	for level := range first.Levels() {
		names = append(names, first.positionName(level))
	}
	t := report.Table{Columns: append([]report.Column{{Name: "catalogue"}}, report.Columns(report.Right, names...)...)}
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
