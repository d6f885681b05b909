// Package compare is the command gritvq compare.
package compare

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/lab/compare"
)

type options struct {
	compare.Options
	settings cli.Settings
	methods  string
	json     bool
}

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "compare DATA",
		Short: "Compare quantizers on your vectors or pictures, with error bars",
		Long: `Trains every method on vectors or pictures (any format train reads) with the same
bits, network, batches and steps, each with its best practice, and scores it on
held-out data. Classical methods are fitted to the vectors themselves; that of
pictures is kmeans, residual k-means of their patches. Prints one table, classical
methods first, and writes a directory with a page (index.html), results.csv,
results.json and a file for every method and seed (cells/).

Repeat the command to resume an interrupted or killed comparison; finished runs are
never repeated. A method that fails is reported and the others continue.`,
		Example: `  gritvq compare vectors.npy
  gritvq compare vectors.npy --methods grit,ema,fsq --bits 32 --seeds 3 -o report
  gritvq compare vectors.npy --methods grit,ema,kmeans --levels 1 --sweep codes=256,1024,4096 -o curves
  gritvq compare photos.tar --methods grit,ema,ste --val held.tar --size 128 --down 8 --codes 4096 --seeds 3 --metrics networks/`,
		Args: cli.Arguments("DATA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Input.Path = args[0]
			return run(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.Output, "output", "o", "report", "directory of the results")
	f.StringVar(&o.methods, "methods", "all",
		"methods to compare, such as grit,ema,fsq, or all (for pictures: all that\ntrain a network); see: gritvq methods")
	f.IntVar(&o.Bits, "bits", 0, "bits of the codes of a vector, or of a cell of a picture, instead of --codes\nand --levels")
	f.IntVar(&o.Seeds, "seeds", 1, "runs of every method, with --seed and the numbers after it")
	f.StringArrayVar(&o.Sweeps, "sweep", nil,
		"compare several sizes of code: codes=256,1024,4096 or levels=1,2,4 (repeatable:\nevery combination)")
	o.settings.AddSharedFlags(cmd)
	f.Lookup("steps").Usage = fmt.Sprintf("training steps of each method (default by the number of rows, or %d for\n"+
		"networks; classical methods take none)", compare.DefaultSteps)
	f.StringVar(&o.Input.Held, "val", "", "held-out vectors or pictures, instead of --split")
	f.StringVar(&o.Input.Metrics, "metrics", "", "pictures: directory of metric networks (default $GRITVQ_METRICS)")
	f.IntVar(&o.Jobs, "jobs", 1, "runs at a time; they share the cores, so each takes longer and speeds are lower")
	cli.WorkersFlag(cmd, &o.Input.Workers)
	f.BoolVar(&o.Input.Drop, "drop-nonfinite", false, "leave out rows with NaN or Inf")
	cli.JSONFlag(cmd, &o.json, "the results as")
	cli.BackendFlag(cmd, &o.Backend)
	return cmd
}

func run(ctx context.Context, s *cli.Streams, o options) error {
	if o.Seeds < 1 || o.Jobs < 1 {
		return usage.Errorf("--seeds %d and --jobs %d must be at least 1", o.Seeds, o.Jobs)
	}
	if o.Input.Held != "" && o.settings.Given("split") {
		return usage.Errorf("--split and --val exclude each other: the held-out items are those of %s", o.Input.Held)
	}
	for _, name := range []string{"codes", "levels", "parts"} {
		if o.Bits != 0 && o.settings.Given(name) {
			return usage.Errorf("--bits and --%s exclude each other: --bits chooses codes and levels", name)
		}
	}
	if o.methods != "all" {
		for name := range strings.SplitSeq(o.methods, ",") {
			o.Methods = append(o.Methods, strings.TrimSpace(name))
		}
	}
	o.Settings = o.settings.Layers(dataset.KindOf(o.Input.Path).IsPictures())
	o.Input.FixedPerceptual, o.Command = o.settings.FixedPerceptual(), s.Command
	results, err := compare.Run(ctx, o.Options, s)
	if err != nil {
		return err
	}
	if err := show(s, o.json, results); err != nil {
		return err
	}
	return results.Err()
}

func show(s *cli.Streams, json bool, results *compare.Results) error {
	if json {
		return s.WriteJSON(results)
	}
	if err := results.Kind.Table(results.Methods, false).Text(s.Out); err != nil {
		return err
	}
	for _, lines := range [][]string{compare.Failures(results.Methods), compare.Notes(results.Methods)} {
		if len(lines) > 0 {
			fmt.Fprintf(s.Out, "\n%s\n", strings.Join(lines, "\n"))
		}
	}
	_, err := fmt.Fprintf(s.Out, "\nreport: %s\n", results.Report)
	return err
}
