package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// pictureReport makes the page of a finished run on pictures.
func (e *experiment) pictureReport(ctx context.Context, b *bundle.Bundle, result *outcome) (*report.Page, error) {
	records, err := vqtrain.ReadLog(filepath.Join(e.dir, bundle.LogFile))
	if err != nil {
		return nil, err
	}
	m := b.Manifest
	page := report.New("Training report: "+m.Data.Name, "Tokenizer: "+describeModel(e.config.Spec, m.Input))
	page.Facts(pictureFacts(m, result))
	page.Section("Training", "The errors should fall and stay down; codes in use should stay near 100%.", pictureCharts(records)...)
	page.Section("Codes", "A healthy codebook uses every code, and none of them for most of the pictures.", usageCharts(b)...)
	figures, err := e.pictureFigures(ctx, result)
	if err != nil {
		return nil, err
	}
	page.Section("Pictures", "What becomes of pictures, and what codes look like.", figures...)
	page.Section("Scores", "With hard codes, on the middle of every picture.", pictureTable(presentPictureScores(*m.Metrics.Pictures)...))
	return page, e.reproduce(page, m)
}

// reportPictures bounds the pictures that a page is drawn from.
const reportPictures = 256

// pictureFigures draws held-out pictures, or training ones where there are none.
func (e *experiment) pictureFigures(ctx context.Context, result *outcome) ([]report.Part, error) {
	set, rows := e.source.HeldImages, e.source.Held
	if rows.Len() == 0 {
		set, rows = e.source.Images, e.source.Train
	}
	sample, err := picture.Take(ctx, result.runtime, set, rows.Head(reportPictures), tokenizer.Options{})
	if err != nil {
		return nil, err
	}
	return sample.Figures()
}

func pictureFacts(m bundle.Manifest, result *outcome) []report.Fact {
	scores, on := m.Metrics.Pictures.Held, "on %s held-out pictures"
	if scores == nil {
		scores, on = m.Metrics.Pictures.Train, "on %s training pictures"
	}
	train := m.Metrics.Pictures.Train
	speed := float64(m.Training.Steps-result.firstStep) / result.duration.Seconds()
	return []report.Fact{
		{Name: "PSNR", Value: report.Number(scores.PSNR, 4) + " dB", Note: fmt.Sprintf(on, report.Count(scores.Images))},
		{Name: "SSIM", Value: report.Number(scores.SSIM, 3), Note: "1 is a perfect reconstruction"},
		{Name: "codes in use", Value: report.Percent(train.Utilization.Mean, 1), Note: fmt.Sprintf("of %s, by %s tokens a code", report.Count(m.Layout.Vocab[0]), report.Number(train.TokensPerCode, 3))},
		{Name: "bits per pixel", Value: report.Number(scores.BitsPerPixel, 3), Note: "instead of 24"},
		{Name: "training time", Value: report.Duration(result.duration.Round(time.Millisecond)), Note: fmt.Sprintf("%s steps/s", report.Number(speed, 3))},
	}
}

// pictureCharts draws the course of a run.
func pictureCharts(records []vqtrain.Record) []report.Part {
	var loss, psnr, perceptual, use, dead, heldUse, perplexity report.Series
	var marks []report.Mark
	for i, r := range records {
		step := float64(r.Step)
		add(&loss, step, r.Reconstruction)
		if r.Perceptual > 0 {
			add(&perceptual, step, r.Perceptual)
		}
		if r.Held != nil {
			add(&psnr, step, r.Held.PSNR)
			add(&heldUse, step, 100*r.Held.Utilization)
		}
		if r.Levels != nil {
			add(&use, step, 100*r.Utilization)
			add(&dead, step, 100*r.DeadRate)
			add(&perplexity, step, r.Perplexity)
		}
		if i > 0 && records[i-1].Phase != r.Phase {
			marks = append(marks, report.Mark{X: step, Label: "codes placed"})
		}
	}
	loss.Name, perceptual.Name, psnr.Name, use.Name, dead.Name, heldUse.Name, perplexity.Name = "pixels", "perceptual", "held out", "in use, recent batches", "dead, recent batches", "in use, held out", "recent batches"
	errors := report.LineChart{Title: "Training error", Caption: "Mean squared error of pixels from -1 to 1.", XLabel: "step", YLabel: "error", LogY: true, Series: []report.Series{loss}, Marks: marks}
	if len(perceptual.X) > 0 {
		errors.Series = append(errors.Series, perceptual)
	}
	parts := []report.Part{errors}
	if len(psnr.X) > 0 {
		parts = append(parts, report.LineChart{Title: "Held-out PSNR", Caption: "Higher is better; 3 dB halve the squared error.", XLabel: "step", YLabel: "dB", Series: []report.Series{psnr}, Marks: marks})
	}
	usage := []report.Series{use, dead}
	if len(heldUse.X) > 1 {
		usage = append(usage, heldUse)
	}
	return append(parts,
		report.LineChart{Title: "Codes in use and dead codes", Caption: "A line of use that falls and does not recover is a collapsing codebook.", XLabel: "step", YLabel: "share of codes (%)", Percent: true, Series: usage, Marks: marks},
		report.LineChart{Title: "Perplexity", Caption: "The number of equally used codes with the same entropy.", XLabel: "step", YLabel: "codes", Series: []report.Series{perplexity}, Marks: marks})
}
