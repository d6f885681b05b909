package models

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/recommend"
)

// AskFlags are the flags of a command that asks a model.
type AskFlags struct {
	recommend.AskOptions
	json bool
}

// Add adds the flags that such commands share.
func (o *AskFlags) Add(cmd *cobra.Command, p *recommend.Purpose, count string) {
	o.Purpose = p
	cmd.Flags().IntVarP(&o.Count, "count", "k", 10, count)
	SearchFlags(cmd, &o.SearchOptions)
	cli.JSONFlag(cmd, &o.json, "")
	cli.BackendFlag(cmd, &o.Backend)
}

// Run asks the model and prints its answers.
func (o *AskFlags) Run(ctx context.Context, s *cli.Streams) error {
	a, err := recommend.Ask(ctx, o.AskOptions, s)
	if err != nil {
		return err
	}
	if o.json {
		return s.WriteJSON(a)
	}
	t := report.Table{Columns: []report.Column{
		{Name: "item"}, {Name: strings.ReplaceAll(a.Score, "_", " "), Align: report.Right}, {Name: "ID"}, {Name: "title"}}}
	for _, item := range a.Items {
		t.Rows = append(t.Rows, report.Cells(item.Item, report.Number(item.Score, 4), strings.Trim(fmt.Sprint(item.ID), "[]"), item.Title))
	}
	if err := t.Text(s.Out); err != nil {
		return err
	}
	s.Remark("%s ms for an answer, once loaded", report.Number(a.Time, 3))
	return nil
}
