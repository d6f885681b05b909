package main

import (
	"github.com/gritvq/gritvq/bundle"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
)

// pictureScores is a column of a score table of pictures.
type pictureScores struct {
	name   string
	scores *tokenizer.PictureScores
}

// pictureRows are the lines of a score table of pictures.
var pictureRows = []struct {
	name  string
	value func(s *tokenizer.PictureScores) string
}{
	{"PSNR (dB)", func(s *tokenizer.PictureScores) string { return report.Number(s.PSNR, 4) }},
	{"SSIM", func(s *tokenizer.PictureScores) string { return report.Number(s.SSIM, 4) }},
	{"mean squared error", func(s *tokenizer.PictureScores) string { return report.Number(s.MSE, 4) }},
	{"utilization", func(s *tokenizer.PictureScores) string { return report.Percent(s.Utilization.Mean, 1) }},
	{"perplexity", func(s *tokenizer.PictureScores) string { return report.Number(s.Perplexity.Mean, 4) }},
	{"tokens per code", func(s *tokenizer.PictureScores) string { return report.Number(s.TokensPerCode, 3) }},
	{"bits per pixel", func(s *tokenizer.PictureScores) string { return report.Number(s.BitsPerPixel, 4) }},
	{"pictures", func(s *tokenizer.PictureScores) string { return report.Count(s.Images) }},
}

// pictureTable compares sets of scores side by side.
func pictureTable(columns ...pictureScores) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "score"}}}
	for _, c := range columns {
		t.Columns = append(t.Columns, report.Column{Name: c.name, Align: report.Right})
	}
	for _, row := range pictureRows {
		cells := report.Cells(row.name)
		for _, c := range columns {
			cells = append(cells, report.Cell{Text: row.value(c.scores)})
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func presentPictureScores(m bundle.PictureMetrics) []pictureScores {
	var columns []pictureScores
	if m.Held != nil {
		columns = append(columns, pictureScores{"held out", m.Held})
	}
	if m.Train != nil {
		columns = append(columns, pictureScores{"trained on", m.Train})
	}
	return columns
}
