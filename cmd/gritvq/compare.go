package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/lab/compare"
)

// compareOptions is the command line of compare.
type compareOptions struct {
	settings cli.Settings
	input    string
	held     string // --val
	metrics  string // directory of metric networks
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

func newCompareCommand(s *cli.Streams, run func(context.Context, *cli.Streams, compareOptions) error) *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare DATA",
		Short: "Compare quantizers on your vectors or pictures, with error bars",
		Long: `Trains every method on vectors or pictures (any format train reads) with the same
bits, network, batches and steps, each at its best practice, and scores it on
held-out ones. Classical methods are fitted to vectors themselves and take no part
in comparisons of pictures. Prints one table, best first, and writes a directory
with a page (index.html), results.csv, results.json and a file for every method and
seed (cells/).

A comparison that was interrupted or killed continues when the command is
repeated; what is finished is never computed again. A method that fails is
reported and the rest goes on.`,
		Example: `  gritvq compare vectors.npy
  gritvq compare vectors.npy --methods grit,ema,fsq --bits 32 --seeds 3 -o report
  gritvq compare vectors.npy --methods grit,ema,kmeans --levels 1 --sweep codes=256,1024,4096 -o curves
  gritvq compare photos.tar --methods grit,ema,ste --val held.tar --size 128 --down 8 --codes 4096 --seeds 3 --metrics networks/`,
		Args: cli.Arguments("DATA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.input = args[0]
			return run(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "report", "directory of the results")
	f.StringVar(&o.methods, "methods", "all", "methods to compare, such as grit,ema,fsq, or all (of pictures all that train a\nnetwork); see: gritvq methods")
	f.IntVar(&o.bits, "bits", 0, "bits of the codes of a vector, or of a cell of a picture, instead of --codes\nand --levels")
	f.IntVar(&o.seeds, "seeds", 1, "runs of every method, with --seed and the numbers after it")
	f.StringArrayVar(&o.sweeps, "sweep", nil, "compare several sizes of code: codes=256,1024,4096 or levels=1,2,4 (repeatable:\nevery combination)")
	o.settings.AddSharedFlags(cmd)
	f.Lookup("steps").Usage = "training steps of each method (default 1500; classical methods take none)"
	f.StringVar(&o.held, "val", "", "held-out vectors or pictures, instead of --split")
	f.StringVar(&o.metrics, "metrics", "", "pictures: directory of metric networks (default $GRITVQ_METRICS)")
	f.IntVar(&o.jobs, "jobs", 1, "runs at a time; they share the cores, so each takes longer and speeds are lower")
	cli.WorkersFlag(cmd, &o.workers)
	f.BoolVar(&o.drop, "drop-nonfinite", false, "leave out rows with NaN or Inf")
	cli.JSONFlag(cmd, &o.json, "the results as")
	cli.BackendFlag(cmd, &o.backend)
	return cmd
}

// showCompared prints the results of a comparison.
func showCompared(s *cli.Streams, o compareOptions, results *compare.Results) error {
	if o.json {
		return s.WriteJSON(results)
	}
	if err := results.Kind.Table(results.Methods, false).Text(s.Out); err != nil {
		return err
	}
	if failures := compare.Failures(results.Methods); len(failures) > 0 {
		fmt.Fprintf(s.Out, "\n%s\n", strings.Join(failures, "\n"))
	}
	if notes := compare.Notes(results.Methods); len(notes) > 0 {
		fmt.Fprintf(s.Out, "\n%s\n", strings.Join(notes, "\n"))
	}
	_, err := fmt.Fprintf(s.Out, "\nreport: %s\n", results.Report)
	return err
}
