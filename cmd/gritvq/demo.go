package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task/tokenize"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// demoOptions is the command line of demo.
type demoOptions struct {
	output string
	data   string
	steps  int
	codes  int
	svg    string
	json   bool
}

func newDemoCommand(s *cli.Streams, run func(context.Context, *cli.Streams, demoOptions) error) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Compare GRIT with its rivals on a built-in data set",
		Long: `Trains GRIT, EMA and STE tokenizers on a built-in set of 60,000 vectors with real
structure, under the same budget and each at its best practice, and STE once more
as first published (random codes, no resets). Prints the comparison and writes a
page with the curves.`,
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
	return cmd
}

// contender is one tokenizer of the comparison.
type contender struct {
	name   string
	method string
	adjust func(*vqtrain.Config)
}

func contenders() []contender {
	same := func(*vqtrain.Config) {}
	return []contender{
		{"grit", "grit", same},
		{"ema", "ema", same},
		{"ste", "ste", same},
		{"ste, bare", "ste", func(c *vqtrain.Config) {
			c.Quantizer.Start = vq.Start{From: "random"}
			c.Quantizer.Resets.Every = 0
		}},
	}
}

// comparison is one line of the demo's result.
type comparison struct {
	Name          string  `json:"name"`
	RelativeError float64 `json:"relative_error"`
	Utilization   float64 `json:"utilization"`
	Perplexity    float64 `json:"perplexity"`
	Seconds       float64 `json:"seconds"`

	records []vqtrain.Record
	usage   []float64
}

func runDemo(ctx context.Context, s *cli.Streams, o demoOptions) error {
	_, missing := os.Stat(o.output)
	if err := output.MakeDir(o.output); err != nil {
		return err
	}
	if missing != nil {
		defer os.Remove(o.output) // only if it stayed empty
	}
	var results []comparison
	for _, c := range contenders() {
		result, err := c.compete(ctx, s, o)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		results = append(results, result)
	}
	page := filepath.Join(o.output, "index.html")
	if err := demoPage(s, o, results).WriteFile(page); err != nil {
		return err
	}
	if o.svg != "" {
		chart := demoCharts(results)[0]
		if err := atomicfile.Write(o.svg, func(w io.Writer) error { return report.WriteSVG(w, chart) }); err != nil {
			return err
		}
	}
	if o.json {
		return s.WriteJSON(struct {
			Report  string       `json:"report"`
			Results []comparison `json:"results"`
		}{page, results})
	}
	if err := demoTable(results).Text(s.Out); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "\nreport: %s\n", page)
	return nil
}

// demoConfig is the model all contenders share: a small network and one level,
// so that codebooks make the difference.
func demoConfig(o demoOptions, method string) (vqtrain.Config, error) {
	c, err := vqtrain.Default(method)
	if err != nil {
		return c, err
	}
	c.Model.Hidden, c.Model.Dim = []int{128, 64}, 16
	c.Quantizer.Codes, c.Quantizer.Levels = o.codes, 1
	c.Train.Steps, c.Train.Batch = o.steps, 1024
	c.Train.Evaluate, c.Train.HeldRows, c.Train.Log = max(1, o.steps/20), 4096, max(1, o.steps/100)
	tokenize.FitToSize(&c, c, nil)
	if err := c.Validate(); err != nil {
		return c, usage.Error{Err: err}
	}
	return c, nil
}

// compete trains and scores one contender in a directory of its own.
func (c contender) compete(ctx context.Context, s *cli.Streams, o demoOptions) (comparison, error) {
	config, err := demoConfig(o, c.method)
	if err != nil {
		return comparison{}, err
	}
	c.adjust(&config)
	dir, err := os.MkdirTemp("", "gritvq-demo-")
	if err != nil {
		return comparison{}, fmt.Errorf("no place for the run: %w", err)
	}
	defer os.RemoveAll(dir)
	s.Remark("%s:", c.name)
	trained, err := tokenize.Train(ctx, tokenize.TrainOptions{Config: config, Input: tokenize.Input{Path: o.data}, Output: dir, Backend: "go", Command: s.Command}, s)
	if errors.Is(err, vqtrain.ErrInterrupted) {
		return comparison{}, vqtrain.ErrInterrupted // there is nothing to resume
	}
	if err != nil {
		return comparison{}, err
	}
	records, err := vqtrain.ReadLog(filepath.Join(dir, bundle.LogFile))
	if err != nil {
		return comparison{}, err
	}
	m := trained.Bundle.Manifest
	scores, train := m.Metrics.Held, m.Metrics.Train
	if scores == nil {
		scores = train
	}
	out := comparison{Name: c.name, RelativeError: scores.RelativeError, Utilization: train.Utilization.Mean, Perplexity: train.Perplexity.Mean,
		Seconds: m.Training.Seconds, records: records}
	for _, n := range trained.Bundle.Usage[0] {
		out.usage = append(out.usage, float64(n))
	}
	return out, nil
}

// demoTable compares the results; the best of each column stands out.
func demoTable(results []comparison) report.Table {
	t := report.Table{Title: "One level of codes, the same network and budget",
		Columns: []report.Column{{Name: "method"}, {Name: "held-out error", Note: "relative: 0 is perfect, 1 is answering with the mean"}, {Name: "utilization", Note: "share of codes the training rows use"}, {Name: "perplexity"}, {Name: "time", Align: report.Right}},
		Caption: "ema and ste start from k-means and revive dead codes, as grit does; \"ste, bare\" is VQ-VAE without either."}
	best := func(better func(a, b comparison) bool) int {
		at := 0
		for i := range results {
			if better(results[i], results[at]) {
				at = i
			}
		}
		return at
	}
	least := best(func(a, b comparison) bool { return a.RelativeError < b.RelativeError })
	most := best(func(a, b comparison) bool { return a.Perplexity > b.Perplexity })
	for i, r := range results {
		t.Rows = append(t.Rows, []report.Cell{
			{Text: r.Name, Strong: i == least}, {Text: fmt.Sprintf("%.4f", r.RelativeError), Strong: i == least},
			{Text: report.Percent(r.Utilization, 1)}, {Text: fmt.Sprintf("%.0f", r.Perplexity), Strong: i == most},
			{Text: report.Duration(time.Duration(r.Seconds * float64(time.Second)))},
		})
	}
	return t
}
