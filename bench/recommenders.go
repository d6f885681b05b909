package main

import (
	"cmp"
	"context"
	"flag"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/lab/jobs"
	"github.com/gritvq/gritvq/lab/recommenders"
	"github.com/gritvq/gritvq/lab/table/recommendation"
)

func runRecommendation(ctx context.Context, flags *flag.FlagSet, args []string) error {
	p := &recommenders.Place{Log: os.Stderr}
	var o jobs.Options
	var list jobFlags
	list.add(ctx, flags, &o)
	flags.StringVar(&p.Program, "program", "bin/gritvq", "the `program` that runs the jobs, with an engine for the backend")
	flags.StringVar(&p.Data, "data", os.Getenv("GRITVQ_DATA"), "`directory` below which jobs name their data; GRITVQ_DATA by default")
	flags.StringVar(&p.Work, "work", "recommenders", "`directory` of IDs, models, ranks and records")
	flags.StringVar(&p.Backend, "backend", "go", "engine, such as xla:PLUGIN")
	out := flags.String("out", "results", "`directory` of the page")
	users := flags.String("users", "", "`directory` of the ranks of every user or query, ID.parquet of run ID, to test differences")
	files := arguments(flags, args)
	if list.print {
		return printJobs(recommenders.Grid())
	}
	if list.file != "" {
		chosen, err := chooseJobs(list, recommenders.Grid())
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(p.Work, "ids"), 0o755); err != nil {
			return err
		}
		if err := recommenders.Run(ctx, chosen, p, o, stderr{}); err != nil {
			return err
		}
		records, ranks := recommenders.Records(p.Work)
		if _, err := os.Stat(records); err == nil {
			files = append(files, records)
		}
		*users = cmp.Or(*users, ranks)
	}
	return recommendation.Document(*users).Write(files, *out, stderr{})
}
