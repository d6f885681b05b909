package tokenize

import (
	"context"
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/weights"
)

// histogramLevels bounds the code positions with a histogram of their own.
const histogramLevels = 8

type course []vqtrain.Record

// series collects the values of a score from the records that have it.
func (c course) series(name string, value func(r vqtrain.Record) (y float64, ok bool)) report.Series {
	s := report.Series{Name: name}
	for _, r := range c {
		if y, ok := value(r); ok {
			s.Add(float64(r.Step), y)
		}
	}
	return s
}

func (c course) held(name string, value func(h *vqtrain.HeldRecord) float64) report.Series {
	return c.series(name, func(r vqtrain.Record) (float64, bool) {
		if r.Held == nil {
			return 0, false
		}
		return value(r.Held), true
	})
}

// window collects a score over recent batches.
func (c course) window(name string, value func(r vqtrain.Record) float64) report.Series {
	return c.series(name, func(r vqtrain.Record) (float64, bool) { return value(r), r.Levels != nil })
}

func (c course) loss(name string) report.Series {
	return c.series(name, func(r vqtrain.Record) (float64, bool) { return r.Reconstruction, true })
}

// chart draws series over the steps and marks where codes were placed.
func (c course) chart(title, caption, label string, series ...report.Series) report.LineChart {
	chart := report.LineChart{Title: title, Caption: caption, XLabel: "step", YLabel: label, Series: series}
	for i, r := range c {
		if i > 0 && c[i-1].Phase != r.Phase {
			chart.Marks = append(chart.Marks, report.Mark{X: float64(r.Step), Label: "codes placed"})
		}
	}
	return chart
}

// errors is a chart of errors, on a logarithmic scale.
func (c course) errors(title, caption, label string, series ...report.Series) report.LineChart {
	chart := c.chart(title, caption, label, series...)
	chart.LogY = true
	return chart
}

// use charts shares of codes, with held-out use if it was taken more than once.
func (c course) use(title, caption, label, held string, series ...report.Series) report.LineChart {
	if s := c.held(held, func(h *vqtrain.HeldRecord) float64 { return 100 * h.Utilization }); len(s.X) > 1 {
		series = append(series, s)
	}
	chart := c.chart(title, caption, label, series...)
	chart.Percent = true
	return chart
}

func (c course) perplexity() report.LineChart {
	return c.chart("Perplexity", "The number of equally used codes with the same entropy.", "codes",
		c.window("recent batches", func(r vqtrain.Record) float64 { return r.Perplexity }))
}

// LevelCharts draw utilization and perplexity of every level over training, or nothing if no step was monitored.
func LevelCharts(records []vqtrain.Record) []report.Part {
	c := course(records)
	use := c.chart("Codes in use over training", "Share of each level's codes that recent batches chose; the rest is dead. "+
		"A line that falls and stays down is a collapse.", "codes in use (%)")
	perplexity := c.chart("Perplexity over training", "The number of equally used codes with the same entropy.", "codes")
	use.Percent, use.FromZero, perplexity.FromZero = true, true, true
	for _, r := range records {
		if r.Levels == nil {
			continue
		}
		for level := range r.Levels.Utilization {
			if level == len(use.Series) {
				line := report.Series{Name: fmt.Sprintf("level %d", level)}
				use.Series, perplexity.Series = append(use.Series, line), append(perplexity.Series, line)
			}
			use.Series[level].Add(float64(r.Step), 100*r.Levels.Utilization[level])
			perplexity.Series[level].Add(float64(r.Step), r.Levels.Perplexity[level])
		}
	}
	if len(use.Series) == 0 {
		return nil
	}
	return []report.Part{use, perplexity}
}

func utilization(r vqtrain.Record) float64 { return 100 * r.Utilization }

func (c course) vectorCharts(standardize string) []report.Part {
	loss := c.loss("training")
	held := c.held("held out", func(h *vqtrain.HeldRecord) float64 { return h.RelativeError })
	var charts []report.Part
	if len(held.X) == 0 || standardize == "scale" {
		// With one scale for all dimensions the training error is a relative error too.
		both := []report.Series{loss}
		if len(held.X) > 0 {
			both = append(both, held)
		}
		charts = append(charts, c.errors("Reconstruction error", "Held out should follow training; 1 is answering with the mean.",
			"relative error", both...))
	} else {
		charts = append(charts, c.errors("Reconstruction error", "Mean squared error of standardised vectors.", "error", loss),
			c.errors("Held-out error", "1 is answering with the mean.", "relative error", held))
	}
	charts = append(charts, c.use("Codes in use", "A line that falls and does not recover is a collapsing codebook.",
		"share of codes used (%)", "held out", c.window("recent batches", utilization)), c.perplexity())
	gradients := c.errors("Gradient norms", "By parameter group, before clipping; a group that stays at zero does not learn.", "norm")
	for _, g := range weights.Groups {
		s := c.series(string(g), func(r vqtrain.Record) (float64, bool) {
			norm, ok := r.Gradients[string(g)]
			return norm, ok
		})
		if len(s.X) > 0 {
			gradients.Series = append(gradients.Series, s)
		}
	}
	if len(gradients.Series) > 0 {
		charts = append(charts, gradients)
	}
	return charts
}

func (c course) pictureCharts() []report.Part {
	errors := c.errors("Training error", "Mean squared error of pixels from -1 to 1.", "error", c.loss("pixels"))
	perceptual := c.series("perceptual", func(r vqtrain.Record) (float64, bool) { return r.Perceptual, r.Perceptual > 0 })
	if len(perceptual.X) > 0 {
		errors.Series = append(errors.Series, perceptual)
	}
	charts := []report.Part{errors}
	if psnr := c.held("held out", func(h *vqtrain.HeldRecord) float64 { return h.PSNR }); len(psnr.X) > 0 {
		charts = append(charts, c.chart("Held-out PSNR", "Higher is better; 3 dB halve the squared error.", "dB", psnr))
	}
	return append(charts, c.use("Codes in use and dead codes", "A line of use that falls and does not recover is a collapsing codebook.",
		"share of codes (%)", "in use, held out", c.window("in use, recent batches", utilization),
		c.window("dead, recent batches", func(r vqtrain.Record) float64 { return 100 * r.DeadRate })), c.perplexity())
}

func usageCharts(b *bundle.Bundle) []report.Part {
	rank := report.LineChart{Title: "Share of assignments by rank", LogX: true, LogY: true,
		Caption: "The flatter the line and the further right it reaches, the better the codes share the work.",
		XLabel:  "rank of the code", YLabel: "share of assignments"}
	var bars []report.Part
	for position := range min(len(b.Usage), histogramLevels) {
		counts := make([]float64, len(b.Usage[position]))
		for i, n := range b.Usage[position] {
			counts[i] = float64(n)
		}
		name := positionName(b.Manifest.Layout, position)
		rank.Series = append(rank.Series, report.RankSeries(name, counts))
		bars = append(bars, report.BarChart{Title: "How often each code is chosen, " + name, Values: counts,
			Caption: "Tall spikes and empty stretches are bad: a flat profile is a full codebook.", XLabel: "code", YLabel: "assignments"})
	}
	return append([]report.Part{rank}, bars...)
}

const (
	projectedRows  = 3000
	projectedCodes = 2000
)

// projection draws latents and first-level codes in the plane of the latents' first two principal components.
func (t *training) projection(ctx context.Context, b *bundle.Bundle, runtime *tokenizer.Runtime) (report.Scatter, error) {
	rows := t.data.Train.Head(projectedRows)
	chosen := make([]int, rows.Len())
	for i := range chosen {
		chosen[i] = rows.At(i)
	}
	x, _, err := t.data.Set.Read(chosen)
	if err != nil {
		return report.Scatter{}, err
	}
	z, err := runtime.Latents(ctx, x)
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
	pca, err := eval.FitPCA(z, len(chosen), width)
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
	return report.Scatter{
		Title: "Latents and the codes of " + positionName(b.Manifest.Layout, 0),
		Caption: fmt.Sprintf("The plane shows %s of the variance. Codes should lie where the latents are; hollow ones were never chosen.",
			report.Percent(pca.Explained[0]+pca.Explained[1], 0)),
		XLabel: "first principal component", YLabel: "second principal component", EqualUnits: true,
		Layers: slices.DeleteFunc([]report.Layer{latents, used, dead}, func(l report.Layer) bool { return len(l.X) == 0 }),
	}, nil
}
