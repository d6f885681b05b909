package tokenize

import (
	"fmt"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/weights"
)

// histogramLevels bounds the code positions with a histogram of their own.
const histogramLevels = 8

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
	if real := c.judgement("of pictures", func(r *vqtrain.AdversarialRecord) float64 { return r.Real }); len(real.X) > 0 {
		charts = append(charts, c.chart("Judgement of the discriminator", "Below -1 and above 1 it is sure; lines that meet are reconstructions "+
			"that pass for pictures.", "judgement", real,
			c.judgement("of reconstructions", func(r *vqtrain.AdversarialRecord) float64 { return r.Drawn })))
	}
	return append(charts, c.use("Codes in use and dead codes", "A line of use that falls and does not recover is a collapsing codebook.",
		"share of codes (%)", "in use, held out", c.window("in use, recent batches", utilization),
		c.window("dead, recent batches", func(r vqtrain.Record) float64 { return 100 * r.DeadRate })), c.perplexity())
}

// judgement is a curve of the discriminator's, empty without one.
func (c course) judgement(name string, of func(r *vqtrain.AdversarialRecord) float64) report.Series {
	return c.series(name, func(r vqtrain.Record) (float64, bool) {
		if r.Adversarial == nil {
			return 0, false
		}
		return of(r.Adversarial), true
	})
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
