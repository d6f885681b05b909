package tokenize

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

func (t *training) page(ctx context.Context, b *bundle.Bundle, records []vqtrain.Record, result *outcome) (*report.Page, error) {
	m := b.Manifest
	p := parts{course: course(records), bundle: b, outcome: result}
	describe := t.describeVectors
	if t.Config.Model.Pictures() {
		describe = t.describePictures
	}
	if err := describe(ctx, &p); err != nil {
		return nil, err
	}
	page := report.New(fmt.Sprintf("Training report: %s, in %s", m.Data.Name, filepath.Base(t.Output)),
		"Tokenizer: "+result.Config.Spec.Describe(m.Input))
	speed := float64(m.Training.Steps-result.First) / result.duration.Seconds()
	page.Facts(append(p.facts, report.Fact{Name: "training time", Value: report.Duration(result.duration.Round(time.Millisecond)),
		Note: fmt.Sprintf("%s steps/s", report.Number(speed, 3))}))
	if choice := m.Training.Choice; choice != nil {
		page.Section("Choice", "Validation rows, a part of the training rows, chose these settings.", choiceTable(*choice))
	}
	expected := "The errors should fall and stay down; codes in use should stay near 100%."
	for _, sentence := range m.Training.Advice {
		expected += " This run: " + sentence + "."
	}
	page.Section("Training", expected, p.charts...)
	page.Section("Codes", "A healthy codebook uses every code, and none of them for most of the "+p.items+".",
		append(p.codes, usageCharts(b)...)...)
	if len(p.figures) > 0 {
		page.Section("Pictures", "Reconstructions, and patches that codes stand for.", p.figures...)
	}
	var tables []report.Part
	for _, table := range Tables(m) {
		tables = append(tables, table)
	}
	page.Section("Scores", p.scored, tables...)
	rendered, err := config.Render(result.Config)
	if err != nil {
		return nil, err
	}
	page.Section("Reproduce", "The run is determined by its data, its settings and its seed.",
		report.Code{Caption: "Command", Text: m.Command},
		report.Code{Caption: "Settings", Text: withoutComments(rendered)})
	page.Footer(fmt.Sprintf("%s, %s. Data %s.", m.CreatedBy, m.Created.Format("2 January 2006 15:04 MST"), m.Data.Fingerprint))
	return page, nil
}

// parts are the parts of a page that depend on the kind of data.
type parts struct {
	course
	bundle  *bundle.Bundle
	outcome *outcome
	facts   []report.Fact
	charts  []report.Part // the course of training
	codes   []report.Part // besides the usage of codes
	figures []report.Part // pictures
	items   string
	scored  string // how the scores were taken
}

func (t *training) describeVectors(ctx context.Context, p *parts) error {
	m := p.bundle.Manifest
	train, scores, on := m.Metrics.Train, m.Metrics.Held, "on %s held-out vectors"
	if scores == nil {
		scores, on = train, "on %s training vectors"
	}
	used, codes := 0, 0
	for _, counts := range p.bundle.Usage {
		codes += len(counts)
		for _, n := range counts {
			if n > 0 {
				used++
			}
		}
	}
	p.facts = []report.Fact{
		{Name: "relative error", Value: report.Number(scores.RelativeError, 4), Note: fmt.Sprintf(on, report.Count(scores.Vectors))},
		{Name: "codes in use", Value: report.Percent(train.Utilization.Mean, 1), Note: report.Count(used) + " of " + report.Count(codes)},
		{Name: "perplexity", Value: report.Number(train.Perplexity.Mean, 4), Note: "of " + report.Count(m.Layout.Vocab[0]) + " codes a level"},
		{Name: "bits per vector", Value: report.Number(scores.BitsPerVector, 4), Note: "instead of " + report.Count(32*m.Input) + " as float32"},
	}
	if r := m.Metrics.Reference; r != nil {
		p.facts = append(p.facts, report.Fact{Name: "classical reference", Value: report.Number(r.Score, 4), Note: r.Name})
	}
	p.items = "data"
	p.scored = "With hard codes, as encode and decode work. " +
		"The relative error is 0 for a perfect reconstruction and 1 for answering with the mean."
	p.charts = p.vectorCharts(t.Config.Model.Standardize)
	projection, err := t.projection(ctx, p.bundle, p.outcome.Runtime)
	p.codes = []report.Part{projection}
	return err
}

const reportPictures = 256

func (t *training) describePictures(ctx context.Context, p *parts) error {
	m := p.bundle.Manifest
	train, scores, on := m.Metrics.Pictures.Train, m.Metrics.Pictures.Held, "on %s held-out pictures"
	set, rows := t.data.HeldSet, t.data.Held
	if scores == nil {
		scores, on = train, "on %s training pictures"
		set, rows = t.data.Set, t.data.Train
	}
	p.facts = []report.Fact{
		{Name: "PSNR", Value: report.Number(scores.PSNR, 4) + " dB", Note: fmt.Sprintf(on, report.Count(scores.Images))},
		{Name: "SSIM", Value: report.Number(scores.SSIM, 3), Note: "1 is a perfect reconstruction"},
		{Name: "codes in use", Value: report.Percent(train.Utilization.Mean, 1),
			Note: fmt.Sprintf("of %s, by %s tokens a code", report.Count(m.Layout.Vocab[0]), report.Number(train.TokensPerCode, 3))},
		{Name: "bits per pixel", Value: report.Number(scores.BitsPerPixel, 3), Note: "instead of 24"},
	}
	if r := m.Metrics.Reference; r != nil {
		p.facts = append(p.facts, report.Fact{Name: "classical reference", Value: report.Number(r.Score, 4) + " dB", Note: r.Name})
	}
	p.items = "pictures"
	p.scored = "With hard codes, on the middle of every picture."
	p.charts = p.pictureCharts()
	sample, err := picture.Take(ctx, p.outcome.Runtime, set, rows.Head(reportPictures), tokenizer.Options{})
	if err == nil {
		p.figures, err = sample.Figures()
	}
	return err
}

// withoutComments removes comments and blank lines from rendered settings.
func withoutComments(rendered []byte) string {
	lines := slices.DeleteFunc(strings.Split(string(rendered), "\n"), func(line string) bool {
		trimmed := strings.TrimSpace(line)
		return trimmed == "" || strings.HasPrefix(trimmed, "#")
	})
	return strings.Join(lines, "\n")
}
