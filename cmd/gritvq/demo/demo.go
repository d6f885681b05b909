// Package demo is the command gritvq demo.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/lab/compare"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

type options struct {
	output string
	data   string
	steps  int
	codes  int
	svg    string
	json   bool
}

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Compare GRIT with its rivals on a built-in data set",
		Long: `Trains GRIT, EMA and STE tokenizers on a built-in set of 60,000 vectors with real
structure, under the same budget and each at its best practice, and STE once more
as first published (random codes, no resets). Prints the comparison and writes a
page with the curves. "demo pictures" shows tokens of pictures and a model of them.`,
		Example: `  gritvq demo
  gritvq demo -o compare --data vectors.npy --steps 5000`,
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), s, o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "demo", "directory of the page")
	f.StringVar(&o.data, "data", "synthetic:manifold", "vectors to train on")
	f.IntVar(&o.steps, "steps", 2000, "training steps of each method")
	f.IntVar(&o.codes, "codes", 1024, "codes")
	f.StringVar(&o.svg, "svg", "", "also write the chart of held-out errors to this file")
	cli.JSONFlag(cmd, &o.json, "")
	cmd.AddCommand(newPictures(s))
	return cmd
}

// comparison has a small network and one level, so that codebooks make the difference.
func (o options) comparison() compare.Options {
	return compare.Options{
		Input:   tokenize.Input{Path: o.data},
		Methods: []string{"grit", "ema", "ste"},
		Variants: []compare.Variant{{Name: "ste, bare", Method: "ste", Change: func(c *vqtrain.Config) {
			c.Quantizer.Start = vq.Start{From: "random"}
			c.Quantizer.Resets.Every = 0
		}}},
		Settings: tokenize.Settings{Preset: "default", Defaults: func(c *vqtrain.Config) {
			c.Model.Hidden, c.Model.Dim = []int{128, 64}, 16
			c.Quantizer.Codes, c.Quantizer.Levels = o.codes, 1
			c.Train.Steps, c.Train.Batch = o.steps, 1024
			c.Train.Evaluate, c.Train.HeldRows, c.Train.Log = max(1, o.steps/20), 4096, max(1, o.steps/100)
		}},
	}
}

func run(ctx context.Context, s *cli.Streams, o options) error {
	c := o.comparison()
	if _, err := c.Settings.ConfigOf("grit"); err != nil {
		return fmt.Errorf("grit: %w", err)
	}
	claim, err := output.Lock(o.output)
	if err != nil {
		return err
	}
	defer claim.Release()
	if c.Output, err = os.MkdirTemp("", "gritvq-demo-"); err != nil {
		return fmt.Errorf("no place for the runs: %w", err)
	}
	defer os.RemoveAll(c.Output)
	c.Command = s.Command
	results, err := compare.Run(ctx, c, s)
	if errors.Is(err, train.ErrInterrupted) {
		return train.ErrInterrupted // there is nothing to resume
	}
	if err != nil {
		return err
	}
	if failures := compare.Failures(results.Methods); len(failures) > 0 {
		return errors.New(failures[0])
	}
	results.Title = "GRIT and its rivals"
	page, err := results.Page()
	if err != nil {
		return err
	}
	results.Report = filepath.Join(o.output, compare.PageFile)
	if err := page.WriteFile(results.Report); err != nil {
		return err
	}
	if o.svg != "" {
		err := atomicfile.Write(o.svg, func(w io.Writer) error { return report.WriteSVG(w, results.HeldChart()) })
		if err != nil {
			return err
		}
	}
	return show(s, o.json, results)
}

type line struct {
	Name          string  `json:"name"`
	RelativeError float64 `json:"relative_error"`
	Utilization   float64 `json:"utilization"`
	Perplexity    float64 `json:"perplexity"`
	Seconds       float64 `json:"seconds"`
}

func show(s *cli.Streams, json bool, results *compare.Results) error {
	t := report.Table{Title: "One level of codes, the same network and budget",
		Columns: []report.Column{{Name: "method"}, {Name: "held-out error", Note: "relative: 0 is perfect, 1 is answering with the mean"},
			{Name: "utilization", Note: "share of codes that rows of the file use"}, {Name: "perplexity"}, {Name: "time", Align: report.Right}},
		Caption: "ema and ste start from k-means and revive dead codes, as grit does; \"ste, bare\" is VQ-VAE without either."}
	var lines []line
	for _, m := range results.Methods {
		l := line{m.Method, m.Score("relative_error").Mean, m.Score("utilization").Mean, m.Score("perplexity").Mean,
			m.Score("train_seconds").Mean}
		lines = append(lines, l)
		t.Rows = append(t.Rows, report.Cells(l.Name, fmt.Sprintf("%.4f", l.RelativeError), report.Percent(l.Utilization, 1),
			fmt.Sprintf("%.0f", l.Perplexity), table.Seconds(l.Seconds)))
	}
	if json {
		return s.WriteJSON(struct {
			Report  string `json:"report"`
			Results []line `json:"results"`
		}{results.Report, lines})
	}
	if err := t.Text(s.Out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "\nreport: %s\n", results.Report)
	return err
}
