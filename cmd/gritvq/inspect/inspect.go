// Package inspect is the command gritvq inspect.
package inspect

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/spf13/cobra"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "inspect DIR",
		Short: "Show what a trained tokenizer is made of",
		Long: `Shows the settings and sizes of a trained tokenizer and, for every level, how its
codes were used on the training rows, how many directions they span (effective
rank), how close the nearest two are, and how far the feature map W stretches
(its spectral norm). Checks the bundle's checksums on the way.`,
		Example: `  gritvq inspect tok
  gritvq inspect tok --json`,
		Args: cli.Arguments("DIR"),
		RunE: func(_ *cobra.Command, args []string) error { return run(s, args[0], json) },
	}
	cli.JSONFlag(cmd, &json, "")
	return cmd
}

func run(s *cli.Streams, dir string, json bool) error {
	i, err := tokenize.Inspect(dir)
	if err != nil {
		return err
	}
	if json {
		return s.WriteJSON(i)
	}
	return show(s, i)
}

func show(s *cli.Streams, i *tokenize.Inspection) error {
	item := "vector"
	if i.Metrics.Pictures != nil {
		item = "picture"
	}
	for _, line := range [][2]string{
		{"bundle", filepath.Clean(i.Bundle) + ", by " + i.CreatedBy},
		{"model", i.Model},
		{"data", fmt.Sprintf("%s: %s rows trained on, %s held out", i.Data.Name, report.Count(i.Data.TrainRows), report.Count(i.Data.HeldRows))},
		{item, fmt.Sprintf("%d numbers -> %d codes, %s bits", i.InputDim, i.Tokens*i.Layout.Positions(),
			report.Number(float64(i.Tokens)*i.BitsPerVector, 4))},
		{"parameters", fmt.Sprintf("%s: network %s, codes %s, transform %s", report.Count(i.Parameters.Total),
			report.Count(i.Parameters.Network), report.Count(i.Parameters.Codes), report.Count(i.Parameters.Transform))},
		{"file", fmt.Sprintf("%sB, %s", report.Short(float64(i.Bytes), 3), i.Fingerprint[:len("sha256:")+12])},
	} {
		fmt.Fprintf(s.Out, "%-11s %s\n", line[0], line[1])
	}
	if p := i.Parent; p != nil {
		fmt.Fprintf(s.Out, "%-11s %s, %s\n", "started from", p.Name, p.Fingerprint[:min(len(p.Fingerprint), len("sha256:")+12)])
	}
	if p := i.Metrics.Pictures; p != nil && p.Held != nil {
		fmt.Fprintf(s.Out, "%-11s PSNR %s dB, SSIM %s\n", "held out", report.Number(p.Held.PSNR, 4), report.Number(p.Held.SSIM, 4))
	}
	if held := i.Metrics.Held; held != nil {
		fmt.Fprintf(s.Out, "%-11s relative error %s, cosine %s\n", "held out", tokenize.RelativeError(held), report.Number(held.Cosine, 4))
	}
	fmt.Fprintln(s.Out)
	t := report.Table{Columns: []report.Column{{Name: tokenize.PositionColumn(i.Layout)}, {Name: "codes"}, {Name: "used"},
		{Name: "perplexity"}, {Name: "eff. rank"}, {Name: "min distance"}, {Name: "|W|", Align: report.Right},
		{Name: "use, most to least", Align: report.Left}},
		Caption: "use: log scale, dots are codes that no training row chose"}
	for position, l := range i.Levels {
		norm := "-"
		if l.SpectralNorm != nil {
			norm = report.Number(*l.SpectralNorm, 3)
		}
		t.Rows = append(t.Rows, report.Cells(tokenize.PositionLabel(i.Layout, position), report.Count(l.Codes), report.Percent(l.Utilization, 1),
			report.Number(l.Perplexity, 4), report.Number(l.EffectiveRank, 3), report.Number(l.MinDistance, 3), norm, sparkline(l.Usage, 32)))
	}
	return t.Text(s.Out)
}

// sparkline draws sorted counts in width cells on a logarithmic scale; cells without a use are dots.
func sparkline(counts []int64, width int) string {
	sorted := slices.Clone(counts)
	slices.SortFunc(sorted, func(a, b int64) int { return int(min(1, max(-1, b-a))) })
	width = min(width, len(sorted))
	bars := []rune("▁▂▃▄▅▆▇█")
	var text strings.Builder
	for cell := range width {
		part := sorted[cell*len(sorted)/width : (cell+1)*len(sorted)/width]
		sum := 0.0
		for _, n := range part {
			sum += float64(n)
		}
		if sum == 0 {
			text.WriteRune('·')
			continue
		}
		height := math.Log1p(sum/float64(len(part))) / math.Log1p(float64(sorted[0]))
		text.WriteRune(bars[min(len(bars)-1, int(height*float64(len(bars))))])
	}
	return text.String()
}
