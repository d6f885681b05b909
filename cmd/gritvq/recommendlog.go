package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/interactions"
	"github.com/gritvq/gritvq/report"
)

// logOptions choose a log and the part of it that counts.
type logOptions struct {
	path string
	core int // least number of interactions of a user and of an item
}

func (o *logOptions) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&o.core, "core", 0, "keep to users and items of at least so many interactions, taken away in turn until all have them")
}

func (o logOptions) check() error {
	if o.core < 0 {
		return usagef("--core %d must not be negative", o.core)
	}
	return nil
}

// open reads the log and says what it holds.
func (o logOptions) open(ctx context.Context, s *streams) (*interactions.Log, error) {
	log, err := interactions.Open(ctx, o.path, interactions.Options{MinUser: o.core, MinItem: o.core})
	if err != nil {
		return nil, err
	}
	stats := log.Stats()
	s.remark("%s: %s users, %s items, %s interactions; a user has %s in the mean and %s in the median", o.path, report.Count(stats.Users), report.Count(stats.Items),
		report.Count(stats.Interactions), report.Number(stats.MeanLength, 3), report.Number(stats.MedianLength, 3))
	return log, nil
}
