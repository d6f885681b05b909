package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/weights"
)

// Bounds of the report.
const (
	projectedRows   = 3000 // latents in the projection
	projectedCodes  = 2000 // codes in it
	histogramLevels = 8    // code positions with a histogram of their own
)

// report makes the page of a finished run from its log and its result.
func (e *experiment) report(ctx context.Context, b *bundle.Bundle, result *outcome) (*report.Page, error) {
	records, err := vqtrain.ReadLog(filepath.Join(e.dir, bundle.LogFile))
	if err != nil {
		return nil, err
	}
	m := b.Manifest
	page := report.New("Training report: "+m.Data.Name, "Tokenizer: "+describeModel(e.config.Spec, result.runtime.Tokenizer().Input))
	page.Facts(trainFacts(m, result))
	page.Section("Training", "The errors should fall and stay down; codes in use should stay near 100%.", trainCharts(records, e.config.Model.Standardize)...)
	charts, err := e.codebookCharts(ctx, b, result)
	if err != nil {
		return nil, err
	}
	page.Section("Codes", "A healthy codebook uses every code, and none of them for most of the data.", charts...)
	tables := []report.Part{scoresTable(presentScores(m.Metrics)...)}
	if len(result.train.Utilization.Levels) > 1 {
		tables = append(tables, positionTable(b.Manifest.Layout, presentScores(m.Metrics)...))
	}
	page.Section("Scores", "With hard codes, as encode and decode work. The relative error is 0 for a perfect reconstruction and 1 for answering with the mean.", tables...)
	return page, e.reproduce(page, m)
}

// reproduce closes a page with what it takes to make it again.
func (e *experiment) reproduce(page *report.Page, m bundle.Manifest) error {
	rendered, err := config.Render(e.config)
	if err != nil {
		return err
	}
	page.Section("Reproduce", "The run is determined by its data, its settings and its seed.",
		report.Code{Caption: "Command", Text: m.Command},
		report.Code{Caption: "Settings", Text: withoutComments(rendered)})
	page.Footer(fmt.Sprintf("%s, %s. Data %s.", m.CreatedBy, m.Created.Format("2 January 2006 15:04 MST"), m.Data.Fingerprint))
	return nil
}

func trainFacts(m bundle.Manifest, result *outcome) []report.Fact {
	scores, on := m.Metrics.Held, "on %s held-out vectors"
	if scores == nil {
		scores, on = m.Metrics.Train, "on %s training vectors"
	}
	used, codes := 0, 0
	for position, vocab := range result.usage.Vocab() {
		codes += vocab
		for _, n := range result.usage.Histogram(position) {
			if n > 0 {
				used++
			}
		}
	}
	speed := float64(m.Training.Steps-result.firstStep) / result.duration.Seconds()
	return []report.Fact{
		{Name: "relative error", Value: report.Number(scores.RelativeError, 4), Note: fmt.Sprintf(on, report.Count(scores.Vectors))},
		{Name: "codes in use", Value: report.Percent(m.Metrics.Train.Utilization.Mean, 1), Note: fmt.Sprintf("%s of %s", report.Count(used), report.Count(codes))},
		{Name: "perplexity", Value: report.Number(m.Metrics.Train.Perplexity.Mean, 4), Note: fmt.Sprintf("of %s codes a level", report.Count(m.Layout.Vocab[0]))},
		{Name: "bits per vector", Value: report.Number(scores.BitsPerVector, 4), Note: fmt.Sprintf("instead of %s as float32", report.Count(32*m.Input))},
		{Name: "training time", Value: report.Duration(result.duration.Round(time.Millisecond)), Note: fmt.Sprintf("%s steps/s", report.Number(speed, 3))},
	}
}

// trainCharts draws the course of a run.
func trainCharts(records []vqtrain.Record, standardize string) []report.Part {
	var loss, held, heldUse, use, perplexity report.Series
	groups := map[string]*report.Series{}
	var marks []report.Mark
	for i, r := range records {
		step := float64(r.Step)
		add(&loss, step, r.Reconstruction)
		if r.Held != nil {
			add(&held, step, r.Held.RelativeError)
			add(&heldUse, step, 100*r.Held.Utilization)
		}
		if r.Levels != nil {
			add(&use, step, 100*r.Utilization)
			add(&perplexity, step, r.Perplexity)
		}
		for group, norm := range r.Gradients {
			if groups[group] == nil {
				groups[group] = &report.Series{Name: group}
			}
			add(groups[group], step, norm)
		}
		if i > 0 && records[i-1].Phase != r.Phase {
			marks = append(marks, report.Mark{X: step, Label: "codes placed"})
		}
	}
	loss.Name, held.Name, use.Name, heldUse.Name, perplexity.Name = "training", "held out", "recent batches", "held out", "recent batches"
	codesInUse := []report.Series{use}
	if len(heldUse.X) > 1 {
		codesInUse = append(codesInUse, heldUse)
	}
	// With one scale for all dimensions the training error is a relative error
	// too, and both belong on one chart.
	errors := report.LineChart{Title: "Reconstruction error", Caption: "Held out should follow training; 1 is answering with the mean.", XLabel: "step", YLabel: "relative error", LogY: true, Series: []report.Series{loss}, Marks: marks}
	parts := []report.Part{errors}
	if len(held.X) > 0 {
		if standardize == "scale" {
			errors.Series = append(errors.Series, held)
			parts[0] = errors
		} else {
			errors.Caption, errors.YLabel = "Mean squared error of standardised vectors.", "error"
			parts = []report.Part{errors, report.LineChart{Title: "Held-out error", Caption: "1 is answering with the mean.", XLabel: "step", YLabel: "relative error", LogY: true, Series: []report.Series{held}, Marks: marks}}
		}
	}
	parts = append(parts, report.LineChart{Title: "Codes in use", Caption: "A line that falls and does not recover is a collapsing codebook.", XLabel: "step", YLabel: "share of codes used (%)", Percent: true, Series: codesInUse, Marks: marks},
		report.LineChart{Title: "Perplexity", Caption: "The number of equally used codes with the same entropy.", XLabel: "step", YLabel: "codes", Series: []report.Series{perplexity}, Marks: marks})
	gradients := report.LineChart{Title: "Gradient norms", Caption: "By parameter group, before clipping; a group that stays at zero does not learn.", XLabel: "step", YLabel: "norm", LogY: true, Marks: marks}
	for _, g := range weights.Groups {
		if s := groups[string(g)]; s != nil {
			gradients.Series = append(gradients.Series, *s)
		}
	}
	if len(gradients.Series) > 0 {
		parts = append(parts, gradients)
	}
	return parts
}

func add(s *report.Series, x, y float64) { s.X, s.Y = append(s.X, x), append(s.Y, y) }

// codebookCharts draws where codes lie and how they are used.
func (e *experiment) codebookCharts(ctx context.Context, b *bundle.Bundle, result *outcome) ([]report.Part, error) {
	projection, err := e.projection(ctx, b, result)
	if err != nil {
		return nil, err
	}
	return append([]report.Part{projection}, usageCharts(b)...), nil
}

// usageCharts draws how often codes are chosen.
func usageCharts(b *bundle.Bundle) []report.Part {
	var parts []report.Part
	rank := report.LineChart{Title: "Share of assignments by rank", Caption: "The flatter the line and the further right it reaches, the better the codes share the work.",
		XLabel: "rank of the code", YLabel: "share of assignments", LogX: true, LogY: true}
	for position := range min(len(b.Usage), histogramLevels) {
		counts := make([]float64, len(b.Usage[position]))
		for i, n := range b.Usage[position] {
			counts[i] = float64(n)
		}
		name := positionName(b.Manifest.Layout, position)
		rank.Series = append(rank.Series, report.RankSeries(name, counts))
		parts = append(parts, report.BarChart{Title: "How often each code is chosen, " + name, Caption: "Tall spikes and empty stretches are bad: a flat profile is a full codebook.",
			XLabel: "code", YLabel: "assignments", Values: counts})
	}
	return append([]report.Part{rank}, parts...)
}

// positionName says which level (and part) a code position is.
func positionName(l bundle.Layout, position int) string {
	name := fmt.Sprintf("level %d", position%l.Levels)
	if l.Parts > 1 {
		name = fmt.Sprintf("part %d, ", position/l.Levels) + name
	}
	return name
}

// projection draws latents and first-level codes in the plane in which the
// latents vary most.
func (e *experiment) projection(ctx context.Context, b *bundle.Bundle, result *outcome) (report.Scatter, error) {
	rows := e.source.Train.Head(projectedRows)
	chosen := make([]int, rows.Len())
	for i := range chosen {
		chosen[i] = rows.At(i)
	}
	x := make([]float32, len(chosen)*e.source.Vectors.Dim())
	if err := e.source.Vectors.Gather(chosen, x); err != nil {
		return report.Scatter{}, err
	}
	z, err := result.runtime.Latents(ctx, x, len(chosen))
	if err != nil {
		return report.Scatter{}, err
	}
	book := b.Codebooks[0]
	width, dim := book.Shape[1], b.Manifest.Layout.Dim
	if width < dim { // the first part's slice of the latents
		for i := range chosen {
			copy(z[i*width:(i+1)*width], z[i*dim:i*dim+width])
		}
		z = z[:len(chosen)*width]
	}
	pca, err := eval.FitPCA2(z, len(chosen), width)
	if err != nil {
		return report.Scatter{}, err
	}
	latents := report.Layer{Name: "latents", Size: 1.4, Opacity: 0.35}
	used, dead := report.Layer{Name: "codes in use", Marker: report.Ringed}, report.Layer{Name: "dead codes", Marker: report.Hollow}
	points, err := pca.Project(z)
	if err != nil {
		return report.Scatter{}, err
	}
	for _, p := range points {
		latents.X, latents.Y = append(latents.X, p[0]), append(latents.Y, p[1])
	}
	if points, err = pca.Project(book.Data); err != nil {
		return report.Scatter{}, err
	}
	for i, p := range points[:min(len(points), projectedCodes)] {
		layer, count := &used, b.Usage[0][i]
		if count == 0 {
			layer = &dead
		}
		layer.X, layer.Y = append(layer.X, p[0]), append(layer.Y, p[1])
		layer.Labels = append(layer.Labels, fmt.Sprintf("code %d, chosen %s times", i, report.Count(int(count))))
	}
	layers := slices.DeleteFunc([]report.Layer{latents, used, dead}, func(l report.Layer) bool { return len(l.X) == 0 })
	return report.Scatter{Title: "Latents and the codes of " + positionName(b.Manifest.Layout, 0), Caption: fmt.Sprintf("The plane shows %s of the variance. Codes should lie where the latents are; hollow ones were never chosen.",
		report.Percent(pca.Explained[0]+pca.Explained[1], 0)), XLabel: "first principal component", YLabel: "second principal component", EqualUnits: true, Layers: layers}, nil
}

// withoutComments drops the comments and blank lines of rendered settings.
func withoutComments(rendered []byte) string {
	lines := slices.DeleteFunc(strings.Split(string(rendered), "\n"), func(line string) bool {
		trimmed := strings.TrimSpace(line)
		return trimmed == "" || strings.HasPrefix(trimmed, "#")
	})
	return strings.Join(lines, "\n")
}
