package main

import (
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// inspectOptions is the command line of inspect.
type inspectOptions struct {
	bundle string
	json   bool
}

func newInspectCommand(s *cli.Streams, run func(*cli.Streams, inspectOptions) error) *cobra.Command {
	var o inspectOptions
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
		RunE: func(_ *cobra.Command, args []string) error {
			o.bundle = args[0]
			return run(s, o)
		},
	}
	cli.JSONFlag(cmd, &o.json, "")
	return cmd
}

// inspection is what inspect --json prints.
type inspection struct {
	Bundle        string            `json:"bundle"`
	Model         string            `json:"model"`
	CreatedBy     string            `json:"created_by"`
	Data          bundle.Data       `json:"data"`
	InputDim      int               `json:"input_dim"`
	Tokens        int               `json:"tokens"` // cells of a picture's grid; 1 for vectors
	Layout        bundle.Layout     `json:"layout"`
	BitsPerVector float64           `json:"bits_per_vector"`
	Parameters    parameterCounts   `json:"parameters"`
	Bytes         int64             `json:"bytes"` // of the model file
	Fingerprint   string            `json:"fingerprint"`
	Levels        []levelInspection `json:"levels"`
	Metrics       bundle.Metrics    `json:"metrics"`
}

// parameterCounts is the number of scalars by what they are for.
type parameterCounts struct {
	Network   int `json:"network"`
	Codes     int `json:"codes"`
	Transform int `json:"transform"`
	Total     int `json:"total"`
}

// levelInspection describes one code position.
type levelInspection struct {
	Codes         int      `json:"codes"`
	Utilization   float64  `json:"utilization"`
	Perplexity    float64  `json:"perplexity"`
	EffectiveRank float64  `json:"effective_rank"`
	MinDistance   float64  `json:"min_distance"`
	SpectralNorm  *float64 `json:"spectral_norm"` // of W; null without one
	Usage         []int64  `json:"usage"`
}

func runInspect(s *cli.Streams, o inspectOptions) error {
	b, err := bundle.Load(o.bundle)
	if err != nil {
		return err
	}
	i := inspect(b)
	i.Bundle = o.bundle
	if o.json {
		return s.WriteJSON(i)
	}
	return i.print(s)
}

func inspect(b *bundle.Bundle) inspection {
	m := b.Manifest
	i := inspection{Model: describeModel(b.Tokenizer.Spec, m.Input), CreatedBy: m.CreatedBy, Data: m.Data, InputDim: m.Input, Tokens: b.Tokenizer.Tokens(), Layout: m.Layout, Metrics: m.Metrics,
		Fingerprint: fmt.Sprintf("sha256:%x", m.Fingerprint())}
	for _, f := range m.Files {
		if f.Name == bundle.ModelFile {
			i.Bytes = f.Size
		}
	}
	for p, a := range b.Weights {
		switch weights.GroupOf(p) {
		case weights.State:
			continue
		case weights.Network:
			i.Parameters.Network += len(a.Data)
		case weights.Codes:
			i.Parameters.Codes += len(a.Data)
		default:
			i.Parameters.Transform += len(a.Data)
		}
		i.Parameters.Total += len(a.Data)
	}
	for position, book := range b.Codebooks {
		i.BitsPerVector += math.Log2(float64(m.Layout.Vocab[position]))
		k, d := book.Shape[0], book.Shape[1]
		level := levelInspection{Codes: k, Usage: b.Usage[position],
			EffectiveRank: eval.EffectiveRank(book.Data, k, d), MinDistance: eval.MinPairwiseDistance(book.Data, k, d)}
		level.Utilization, level.Perplexity = usageOf(b.Usage[position])
		if w := featureMap(b, position); w != nil {
			norm := eval.SpectralNorm(w.Data, w.Shape[0])
			level.SpectralNorm = &norm
		}
		i.Levels = append(i.Levels, level)
	}
	return i
}

// usageOf summarises stored counts.
func usageOf(counts []int64) (utilization, perplexity float64) {
	total, used, entropy := 0.0, 0, 0.0
	for _, n := range counts {
		total += float64(n)
	}
	for _, n := range counts {
		if n > 0 {
			used++
			p := float64(n) / total
			entropy -= p * math.Log(p)
		}
	}
	return float64(used) / float64(max(1, len(counts))), math.Exp(entropy)
}

// featureMap finds the W of a code position, if it has one.
func featureMap(b *bundle.Bundle, position int) *weights.Array {
	return b.Weights[path.Join(vq.Prefix, b.Tokenizer.Quantizer.Layout().Path(position), vq.FeatureMapPath)]
}

// item is what the tokenizer codes one of.
func (i inspection) item() string {
	if i.Metrics.Pictures != nil {
		return "picture"
	}
	return "vector"
}

// print shows the inspection on a terminal.
func (i inspection) print(s *cli.Streams) error {
	for _, line := range [][2]string{
		{"bundle", filepath.Clean(i.Bundle) + ", by " + i.CreatedBy},
		{"model", i.Model},
		{"data", fmt.Sprintf("%s: %s rows trained on, %s held out", i.Data.Name, report.Count(i.Data.TrainRows), report.Count(i.Data.HeldRows))},
		{i.item(), fmt.Sprintf("%d numbers -> %d codes, %s bits", i.InputDim, i.Tokens*len(i.Levels), report.Number(float64(i.Tokens)*i.BitsPerVector, 4))},
		{"parameters", fmt.Sprintf("%s: network %s, codes %s, transform %s", report.Count(i.Parameters.Total), report.Count(i.Parameters.Network), report.Count(i.Parameters.Codes), report.Count(i.Parameters.Transform))},
		{"file", fmt.Sprintf("%sB, %s", report.Short(float64(i.Bytes), 3), i.Fingerprint[:len("sha256:")+12])},
	} {
		fmt.Fprintf(s.Out, "%-11s %s\n", line[0], line[1])
	}
	if p := i.Metrics.Pictures; p != nil && p.Held != nil {
		fmt.Fprintf(s.Out, "%-11s PSNR %s dB, SSIM %s\n", "held out", report.Number(p.Held.PSNR, 4), report.Number(p.Held.SSIM, 4))
	}
	if held := i.Metrics.Held; held != nil {
		fmt.Fprintf(s.Out, "%-11s relative error %s, cosine %s\n", "held out", relativeError(held), report.Number(held.Cosine, 4))
	}
	fmt.Fprintln(s.Out)
	t := report.Table{Columns: []report.Column{{Name: positionColumn(i.Layout)}, {Name: "codes"}, {Name: "used"}, {Name: "perplexity"}, {Name: "eff. rank"}, {Name: "min distance"}, {Name: "|W|", Align: report.Right}, {Name: "use, most to least", Align: report.Left}},
		Caption: "use: log scale, dots are codes that no training row chose"}
	for position, l := range i.Levels {
		norm := "-"
		if l.SpectralNorm != nil {
			norm = report.Number(*l.SpectralNorm, 3)
		}
		t.Rows = append(t.Rows, report.Cells(positionLabel(i.Layout, position), report.Count(l.Codes), report.Percent(l.Utilization, 1), report.Number(l.Perplexity, 4),
			report.Number(l.EffectiveRank, 3), report.Number(l.MinDistance, 3), norm, sparkline(l.Usage, 32)))
	}
	return t.Text(s.Out)
}

// sparkline draws counts from the largest to the smallest in width cells, on a
// logarithmic scale; cells without a use are dots.
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
