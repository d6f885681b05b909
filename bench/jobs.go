package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/lab/jobs"
	"github.com/gritvq/gritvq/lab/table"
)

// jobFlags say which jobs of a list are run.
type jobFlags struct {
	file, only string
	print      bool
}

func (l *jobFlags) add(ctx context.Context, flags *flag.FlagSet, o *jobs.Options) {
	commitFlag(ctx, flags, &o.Origin.Commit)
	flags.StringVar(&l.file, "jobs", "", "run the jobs of a `file`, a line of JSON each; \"grid\" is the list of the page's tables")
	flags.BoolVar(&l.print, "list", false, "print the jobs of the page's tables and stop")
	flags.StringVar(&l.only, "only", "", "only jobs whose id begins with one of these `texts`, separated by commas")
	flags.IntVar(&o.Parallel, "parallel", 1, "jobs at a time, each in a process of its own")
	flags.DurationVar(&o.Limit, "limit", 0, "time that a job may take, such as 90m (none)")
	flags.DurationVar(&o.Within, "within", 0, "time after which jobs under way are saved and the call ends, such as 9m (none)")
	flags.StringVar(&o.Origin.Hardware, "hardware", table.Hardware(), "what records call the machine")
}

// grid is the name of the list of a page's tables.
const grid = "grid"

// chooseJobs reads the list, or takes the page's.
func chooseJobs[J jobs.Job](l jobFlags, own []J) ([]J, error) {
	if l.file != grid {
		var err error
		if own, err = table.ReadLines[J](l.file); err != nil {
			return nil, err
		}
	}
	prefixes := strings.Split(l.only, ",")
	return slices.DeleteFunc(own, func(j J) bool {
		return !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(j.Name(), p) })
	}), nil
}

func printJobs[J jobs.Job](list []J) error {
	encoder := json.NewEncoder(os.Stdout)
	for _, j := range list {
		if err := encoder.Encode(j); err != nil {
			return err
		}
	}
	return nil
}
