package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/gritvq/gritvq/exp"
	"github.com/spf13/cobra"
)

// compareOptions is the command line of compare.
type compareOptions struct {
	settings settings
	input    string
	output   string
	methods  string
	bits     int
	seeds    int
	sweeps   []string
	jobs     int
	workers  int
	backend  string
	drop     bool
	json     bool
}

// compareSteps is the default budget of each method. All methods at 4 x 256
// codes on 12,000 vectors of dimension 512 then take about half an hour on two
// cores.
const compareSteps = 1500

func newCompareCommand(s *streams, run func(context.Context, *streams, compareOptions) error) *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare VECTORS",
		Short: "Compare quantizers on your vectors, with error bars",
		Long: `Trains every method on the rows of a file (any format train reads) with the same
bits, network, batches and steps, each at its best practice, and scores it on
held-out rows. Classical methods are fitted to the vectors themselves. Prints one
table, best first, and writes a directory with a page (index.html), results.csv,
results.json and a file for every method and seed (cells/).

A comparison that was interrupted or killed continues when the command is
repeated; what is finished is never computed again. A method that fails is
reported and the rest goes on.`,
		Example: `  gritvq compare vectors.npy
  gritvq compare vectors.npy --methods grit,ema,fsq --bits 32 --seeds 3 -o report
  gritvq compare vectors.npy --methods grit,ema,kmeans --levels 1 --sweep codes=256,1024,4096 -o curves`,
		Args: arguments("VECTORS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.input = args[0]
			o.settings.flags = cmd.Flags()
			return run(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "report", "directory of the results")
	f.StringVar(&o.methods, "methods", "all", "methods to compare, such as grit,ema,fsq, or all; see: gritvq methods")
	f.IntVar(&o.bits, "bits", 0, "bits of a vector's codes, instead of --codes and --levels")
	f.IntVar(&o.seeds, "seeds", 1, "runs of every method, with --seed and the numbers after it")
	f.StringArrayVar(&o.sweeps, "sweep", nil, "compare several sizes of code: codes=256,1024,4096 or levels=1,2,4 (repeatable:\nevery combination)")
	o.settings.addSharedFlags(f)
	f.Lookup("steps").Usage = "training steps of each method (default 1500; classical methods take none)"
	f.IntVar(&o.jobs, "jobs", 1, "runs at a time; they share the cores, so each takes longer and speeds are lower")
	f.IntVar(&o.workers, "workers", 0, "threads to use (default all cores)")
	f.BoolVar(&o.drop, "drop-nonfinite", false, "leave out rows with NaN or Inf")
	f.BoolVar(&o.json, "json", false, "print the results as one JSON object")
	engineFlag(cmd, &o.backend)
	return cmd
}

// showCompared prints the results of a comparison.
func showCompared(s *streams, o compareOptions, results *exp.Results) error {
	if o.json {
		return s.writeJSON(results)
	}
	if err := exp.Table(results.Methods, false).Text(s.out); err != nil {
		return err
	}
	if failures := exp.Failures(results.Methods); len(failures) > 0 {
		fmt.Fprintf(s.out, "\n%s\n", strings.Join(failures, "\n"))
	}
	_, err := fmt.Fprintf(s.out, "\nreport: %s\n", results.Report)
	return err
}
