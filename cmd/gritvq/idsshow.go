package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
)

func runIDsShow(ctx context.Context, s *cli.Streams, o idsShowOptions) error {
	if o.limit < 1 {
		return usage.Errorf("-k %d: list at least 1 item", o.limit)
	}
	if o.item != "" && len(o.codes) > 0 {
		return usage.Errorf("give codes or --item, not both")
	}
	c, err := catalogue.Open(ctx, o.dir)
	if err != nil {
		return err
	}
	prefix, err := catalogue.ParseCodes(o.codes...)
	if err != nil {
		return err
	}
	if o.item != "" {
		var known bool
		if prefix, known = c.SharedPrefix(o.item); !known {
			return fmt.Errorf("item %q is not in %s; check its name", o.item, o.dir)
		}
	}
	l, err := c.Show(prefix, o.limit)
	if err != nil {
		return err
	}
	if o.json {
		return s.WriteJSON(l)
	}
	if row, known := c.Row(o.item); known {
		fmt.Fprintf(s.Out, "%s  %s\n\n", catalogue.FormatCodes(c.ID(row)), titleOr(o.item, c.Title(o.item)))
	}
	return printListing(s, l, c.Levels())
}

// shownCodes is the number of following codes that are printed.
const shownCodes = 12

// printListing prints the items below a prefix of IDs with levels codes.
func printListing(s *cli.Streams, l *catalogue.Listing, levels int) error {
	below := "all IDs"
	if len(l.Prefix) > 0 {
		below = "IDs that begin with " + catalogue.FormatCodes(l.Prefix)
	}
	fmt.Fprintf(s.Out, "%s: %s", below, report.Counted(l.Items, "item"))
	if len(l.Words) > 0 {
		fmt.Fprintf(s.Out, "; typical words: %s", strings.Join(l.Words, ", "))
	}
	fmt.Fprint(s.Out, "\n\n")
	if len(l.Next) > 1 && len(l.Prefix) < levels {
		if err := printNext(s, l); err != nil {
			return err
		}
	}
	items := report.Table{Columns: []report.Column{{Name: "ID", Align: report.Left}, {Name: "item"}, {Name: "title"}}}
	if len(l.List) < l.Items {
		items.Caption = fmt.Sprintf("%d of %d.", len(l.List), l.Items)
	}
	for _, item := range l.List {
		items.Rows = append(items.Rows, report.Cells(catalogue.FormatCodes(item.Codes), item.Item, titleOr(item.Item, item.Title)))
	}
	return items.Text(s.Out)
}

// printNext prints the following codes with the most items.
func printNext(s *cli.Streams, l *catalogue.Listing) error {
	slices.SortStableFunc(l.Next, func(a, b catalogue.NextCode) int { return b.Items - a.Items })
	codes := report.Table{Columns: []report.Column{{Name: "code", Align: report.Right}, {Name: "items", Align: report.Right}, {Name: "typical words"}}}
	for _, next := range l.Next[:min(shownCodes, len(l.Next))] {
		path := append(slices.Clone(l.Prefix), next.Code)
		codes.Rows = append(codes.Rows, report.Cells(catalogue.FormatCodes(path), report.Count(next.Items), strings.Join(next.Words, ", ")))
	}
	if err := codes.Text(s.Out); err != nil {
		return err
	}
	if len(l.Next) > shownCodes {
		fmt.Fprintf(s.Out, "and %d more codes\n", len(l.Next)-shownCodes)
	}
	fmt.Fprintln(s.Out)
	return nil
}

// titleOr is the title of an item, or its name if it has none.
func titleOr(item, title string) string {
	if title != "" {
		return title
	}
	return "item " + item
}
