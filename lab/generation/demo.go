package generation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/prior"
	"github.com/gritvq/gritvq/task/prior/gpt"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// DemoOptions describe a demonstration for a few cores.
type DemoOptions struct {
	Output     string // directory
	Data       string // pictures
	Size       int    // side of the pictures in pixels
	Steps      int    // of the tokenizer
	PriorSteps int
	Count      int // pictures drawn
	Command    string
}

// DefaultDemo takes less than six minutes on two cores.
func DefaultDemo() DemoOptions {
	return DemoOptions{Output: "demo-images", Data: "synthetic:scenes?images=3000&size=48", Size: 48, Steps: 300, PriorSteps: 1600, Count: 64}
}

// Demonstrated describes what Demo made.
type Demonstrated struct {
	Report       string  `json:"report"`
	Samples      string  `json:"samples"`
	PSNR         float64 `json:"psnr"`           // of held-out pictures
	BitsPerToken float64 `json:"bits_per_token"` // of their codes, by the prior
	BitsPerImage float64 `json:"bits_per_image"`
	Neighbour    float64 `json:"neighbour_bits_per_token"` // by the model of picture files
	PerSecond    float64 `json:"per_second"`               // pictures drawn
	Seconds      float64 `json:"seconds"`
}

// String implements fmt.Stringer.
func (d Demonstrated) String() string {
	return fmt.Sprintf("reconstruction: %s dB\nneighbour model: %s bits a token; this prior: %s\nsamples: %s\nreport:  %s",
		report.Number(d.PSNR, 4), report.Number(d.Neighbour, 3), report.Number(d.BitsPerToken, 3), d.Samples, d.Report)
}

// Files of the demonstration.
const (
	demoPage            = "index.html"
	drawnFile           = "samples.png"
	reconstructionsFile = "reconstructions.png"
)

// drawing is a demonstration under way.
type demo struct {
	DemoOptions
	watch     task.Watcher
	begun     time.Time
	tokenizer *bundle.Bundle
	prior     *prior.Prior
	samples   *prior.Sampled
}

// Demo trains a tokenizer and a prior, draws pictures and writes a page. Repeated, it continues an interrupted run.
func Demo(ctx context.Context, o DemoOptions, watch task.Watcher) (*Demonstrated, error) {
	d := &demo{DemoOptions: o, watch: watch, begun: time.Now()}
	for _, stage := range []func(context.Context) error{d.trainTokenizer, d.trainPrior, d.draw} {
		if err := stage(ctx); err != nil {
			return nil, err
		}
	}
	held, scores := d.tokenizer.Manifest.Metrics.Pictures, d.prior.Manifest.Validation
	if held == nil || held.Held == nil || scores == nil {
		return nil, errors.New("no pictures were held out, so there is nothing to show; give more pictures")
	}
	page, err := d.page(held.Held, scores)
	if err != nil {
		return nil, err
	}
	return &Demonstrated{Report: d.path(demoPage), Samples: d.samples.Output, PSNR: held.Held.PSNR, BitsPerToken: scores.BitsPerToken,
		BitsPerImage: scores.BitsPerImage, Neighbour: scores.Reference.Neighbour, PerSecond: d.samples.PerSecond,
		Seconds: time.Since(d.begun).Seconds()}, page.WriteFile(d.path(demoPage))
}

func (d *demo) path(name string) string { return filepath.Join(d.Output, name) }

func (d *demo) trainTokenizer(ctx context.Context) error {
	settings := tokenize.Settings{Preset: "default", Pictures: true, Defaults: func(c *vqtrain.Config) {
		c.Model.Image.Size, c.Model.Image.Widths, c.Model.Dim = d.Size, []int{16, 32, 32}, 16
		c.Quantizer.Codes, c.Train.Steps, c.Train.Batch = 256, d.Steps, 16
	}}
	c, err := settings.Config()
	if err != nil {
		return err
	}
	trained, err := tokenize.Train(ctx, tokenize.TrainOptions{Config: c, Input: tokenize.Input{Path: d.Data}, Output: d.path("tok"),
		Backend: "go", Resume: output.Present(d.path("tok")), Command: d.Command}, d.watch)
	if err != nil {
		return settings.Explain(err)
	}
	d.tokenizer = trained.Bundle
	return nil
}

func (d *demo) trainPrior(ctx context.Context) (err error) {
	d.prior, err = prior.TrainPrior(ctx, prior.TrainOptions{Dir: d.path("prior"), Resume: output.Present(d.path("prior")), Backend: "go",
		Command:  d.Command,
		Settings: prior.Settings{Set: []string{fmt.Sprintf("train.steps=%d", d.PriorSteps), "model.layers=4", "model.width=128"}},
		Source:   prior.Source{Tokenizer: d.path("tok"), Pictures: d.Data}}, d.watch)
	return err
}

func (d *demo) draw(ctx context.Context) (err error) {
	coding := tokenize.CodingOptions{Dir: d.path("tok"), Input: d.Data, Backend: "go"}
	grid := tokenize.GridOptions{CodingOptions: coding, Output: d.path(reconstructionsFile), Images: 8}
	if _, err := tokenize.Grid(ctx, grid, d.watch); err != nil {
		return err
	}
	sampling := gpt.DefaultSampling()
	sampling.Seed = 1
	d.samples, err = prior.Sample(ctx, prior.SampleOptions{Dir: d.path("prior"), Output: d.path(drawnFile), Count: d.Count,
		Sampling: sampling, Backend: "go"}, d.watch)
	return err
}

// page shows what was made.
func (d *demo) page(held *tokenizer.PictureScores, scores *prior.Scores) (*report.Page, error) {
	reconstructions, err := d.figure(reconstructionsFile, "Pictures as codes and back", "pictures, their reconstructions, errors and codes")
	if err != nil {
		return nil, err
	}
	drawn, err := d.figure(drawnFile, "Drawn from the prior", "new pictures")
	if err != nil {
		return nil, err
	}
	tokens := float64(d.prior.Model.Layout.Tokens())
	plain := held.BitsPerPixel * float64(d.Size*d.Size)
	page := report.New("New pictures from codes", fmt.Sprintf(
		"A tokenizer turns a picture of %d x %d pixels into %d codes and back; a prior learns which codes follow each other, and draws new ones.",
		d.Size, d.Size, int(tokens)))
	page.Facts([]report.Fact{
		{Name: "reconstruction", Value: report.Number(held.PSNR, 4) + " dB", Note: "PSNR of held-out pictures"},
		{Name: "bits a picture", Value: report.Number(scores.BitsPerImage, 4), Note: "by the prior; " + report.Number(plain, 4) + " without it"},
		{Name: "drawing", Value: report.Number(d.samples.PerSecond, 3), Note: "pictures a second"},
		{Name: "time", Value: report.Duration(time.Since(d.begun).Round(time.Second)), Note: "of this run, on a few cores"},
	})
	bits := report.Table{Columns: []report.Column{{Name: "model of the codes"}, {Name: "bits a picture", Align: report.Right},
		{Name: "bits a code", Align: report.Right}}}
	for _, row := range []struct {
		name string
		bits float64
	}{
		{"none: all codes alike", plain / tokens},
		{"frequencies of codes", scores.Reference.Unigram},
		{"neighbours, as in picture files", scores.Reference.Neighbour},
		{"prior", scores.BitsPerToken},
	} {
		bits.Rows = append(bits.Rows, report.Cells(row.name, report.Number(row.bits*tokens, 4), report.Number(row.bits, 4)))
	}
	page.Section("Tokenizer", "Originals, reconstructions, errors and codes.", reconstructions)
	page.Section("New pictures", "Not taken from the data, but drawn code by code, at temperature 1.", drawn)
	page.Section("Codes", "What the codes of held-out pictures take. A better prior takes fewer bits and draws better pictures.", bits)
	page.Section("Reproduce", "", report.Code{Caption: "Command", Text: d.Command},
		report.Paragraph("tok/report.html and prior/report.html show how both were trained."))
	page.Footer(d.prior.Manifest.CreatedBy)
	return page, nil
}

func (d *demo) figure(file, title, alt string) (f report.Figure, err error) {
	content, err := memory.ReadFile(d.path(file))
	if err == nil {
		_, err = png.DecodeConfig(bytes.NewReader(content))
	}
	if err != nil {
		return f, fmt.Errorf("%s cannot be shown: %w", d.path(file), err)
	}
	return report.Figure{Title: title, PNG: content, Alt: alt}, nil
}
