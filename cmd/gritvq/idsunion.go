package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
)

// runUnion gives several catalogues their tables: with one tokenizer, trained on
// all of them, or with --each one each.
func (o idsOptions) runUnion(ctx context.Context, s *cli.Streams, list []*itemSource) error {
	shared, err := o.sharedCoder(ctx, s, list)
	if err != nil {
		return err
	}
	union := catalogue.Union{}
	if shared != nil {
		union.Tokenizer = shared.identity()
	}
	if o.force {
		if err := catalogue.Clear(o.output); err != nil {
			return err
		}
	}
	var tables []*catalogue.Table
	var coders []coder
	for i, c := range list {
		k := shared
		switch {
		case o.dense:
			k, err = o.numbering(i, len(list))
		case k == nil:
			s.Remark("%s:", c.name)
			k, err = o.coder(ctx, s, c.dir, c.vectors)
		}
		if err != nil {
			return err
		}
		table, err := o.tabulate(ctx, c, k, s.Command)
		if err != nil {
			return err
		}
		c.loaded = nil
		tables, coders, union.Catalogues = append(tables, table), append(coders, k), append(union.Catalogues, c.name)
	}
	var whole *catalogue.Table // codes of different tokenizers have nothing in common
	if shared != nil || o.dense {
		if whole, err = joinTables(list, tables); err != nil {
			return err
		}
	}
	if err := writeUnionReport(o.output, list, tables, whole, coders[0], s.Command); err != nil {
		return err
	}
	if err := union.Save(o.output); err != nil {
		return err
	}
	return showUnion(s, o, list, tables, coders, whole)
}

// sharedCoder is the tokenizer of all catalogues, or nil if each has its own.
func (o idsOptions) sharedCoder(ctx context.Context, s *cli.Streams, list []*itemSource) (coder, error) {
	if o.dense || o.each && o.tokenizer == "" {
		return nil, nil
	}
	if o.tokenizer != "" {
		return o.coder(ctx, s, o.output, "")
	}
	joined := filepath.Join(o.output, unionVectors)
	if err := joinVectors(ctx, list, joined); err != nil {
		return nil, err
	}
	defer os.Remove(joined)
	return o.coder(ctx, s, o.output, joined)
}

// joinTables puts the codes of several catalogues into one table, to see what
// they share. Items are called catalogue/item, so that names do not clash.
func joinTables(list []*itemSource, tables []*catalogue.Table) (*catalogue.Table, error) {
	var codes []uint32
	var keys []string
	for i, t := range tables {
		for row := range t.Len() {
			codes = append(codes, t.Codes(row)...)
			keys = append(keys, list[i].name+"/"+t.Key(row))
		}
	}
	return catalogue.Build(codes, tables[0].Vocab()[:tables[0].Levels()], keys, catalogue.BuildOptions{})
}

// unionResult is what ids --json prints of several catalogues.
type unionResult struct {
	Output     string           `json:"output"`
	Report     string           `json:"report"`
	Catalogues []idsResult      `json:"catalogues"`
	Union      *catalogue.Stats `json:"union,omitempty"` // of all items, where they share a tokenizer
}

// showUnion prints what the tables look like.
func showUnion(s *cli.Streams, o idsOptions, list []*itemSource, tables []*catalogue.Table, coders []coder, whole *catalogue.Table) error {
	page := filepath.Join(o.output, idsReport)
	if !o.json {
		table := unionTable(list, tables, whole)
		if err := table.Text(s.Out); err != nil {
			return err
		}
		_, err := s.Out.Write([]byte("\nreport: " + page + "\n"))
		return err
	}
	r := unionResult{Output: o.output, Report: page}
	for i, t := range tables {
		r.Catalogues = append(r.Catalogues, resultOf(list[i].dir, coders[i], t, t.Len()))
	}
	if whole != nil {
		stats := whole.Stats()
		r.Union = &stats
	}
	return s.WriteJSON(r)
}

// unionTable compares catalogues side by side.
func unionTable(list []*itemSource, tables []*catalogue.Table, whole *catalogue.Table) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "catalogue"}, {Name: "items", Align: report.Right}, {Name: "collisions", Align: report.Right},
		{Name: "after", Align: report.Right}, {Name: "largest", Align: report.Right}}}
	for level := range tables[0].Levels() {
		t.Columns = append(t.Columns, report.Column{Name: positionTitle(tables[0], level), Align: report.Right})
	}
	add := func(name string, table *catalogue.Table) {
		stats := table.Stats()
		row := report.Cells(name, report.Count(table.Len()), report.Percent(stats.Before.Rate, 2), report.Percent(stats.After.Rate, 2), report.Count(stats.Before.Largest))
		for _, p := range stats.Positions[:min(tables[0].Levels(), table.Levels())] {
			row = append(row, report.Cell{Text: report.Percent(p.Utilization, 1)})
		}
		t.Rows = append(t.Rows, row)
	}
	for i, c := range list {
		add(c.name, tables[i])
	}
	if whole != nil {
		add("all", whole)
	}
	return t
}
