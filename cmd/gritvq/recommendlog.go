package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/usage"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/report"
)

// logOptions choose a log and the part of it that counts.
type logOptions struct {
	path    string
	core    int      // least number of interactions of a user and of an item
	columns []string // of a table: user, item and, if chosen, time; nil to find them
}

func (o *logOptions) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.core, "core", 0, "keep to users and items of at least so many interactions, taken away in turn until all have them")
	f.StringSliceVar(&o.columns, "columns", nil, "the columns `USER,ITEM,TIME` of a table, by name or by number from 1, as in visitorid,itemid,timestamp or 1,2,4;\n"+
		"a TIME of - says that rows are in chronological order (default: found by the usual names)")
}

func (o logOptions) check() error {
	_, err := o.options()
	return err
}

// options are those of the package that reads logs.
func (o logOptions) options() (interactions.Options, error) {
	if o.core < 0 {
		return interactions.Options{}, usage.Errorf("--core %d must not be negative", o.core)
	}
	out := interactions.Options{MinUser: o.core, MinItem: o.core}
	if o.columns == nil {
		return out, nil
	}
	var parts []string
	for _, part := range o.columns {
		parts = append(parts, strings.TrimSpace(part))
	}
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return out, usage.Errorf("--columns %s: name user, item and, unless it goes by a usual name, time, as in visitorid,itemid,timestamp or 1,2,4", strings.Join(o.columns, ","))
	}
	out.User, out.Item = parts[0], parts[1]
	if len(parts) == 3 {
		out.Time = parts[2]
	}
	return out, nil
}

// open reads the log and says what it holds.
func (o logOptions) open(ctx context.Context, s *cli.Streams) (*interactions.Log, error) {
	options, err := o.options()
	if err != nil {
		return nil, err
	}
	log, err := interactions.Open(ctx, o.path, options)
	if errors.Is(err, interactions.ErrColumns) {
		err = fmt.Errorf("%w: --columns USER,ITEM,TIME", err)
	}
	if err != nil {
		return nil, err
	}
	if log.InFileOrder() {
		s.Remark("%s: rows are taken to be in chronological order", o.path)
	}
	stats := log.Stats()
	s.Remark("%s: %s users, %s items, %s interactions; a user has %s in the mean and %s in the median", o.path, report.Count(stats.Users), report.Count(stats.Items),
		report.Count(stats.Interactions), report.Number(stats.MeanLength, 3), report.Number(stats.MedianLength, 3))
	return log, nil
}
