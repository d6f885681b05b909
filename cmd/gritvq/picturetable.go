package main

import (
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
)

type pictureScores = column[tokenizer.PictureScores]

// pictureRows are the lines of a score table of pictures.
var pictureRows = []line[tokenizer.PictureScores]{
	{"PSNR (dB)", func(s *tokenizer.PictureScores) string { return report.Number(s.PSNR, 4) }},
	{"SSIM", func(s *tokenizer.PictureScores) string { return report.Number(s.SSIM, 4) }},
	{"mean squared error", func(s *tokenizer.PictureScores) string { return report.Number(s.MSE, 4) }},
	{"utilization", func(s *tokenizer.PictureScores) string { return report.Percent(s.Utilization.Mean, 1) }},
	{"perplexity", func(s *tokenizer.PictureScores) string { return report.Number(s.Perplexity.Mean, 4) }},
	{"tokens per code", func(s *tokenizer.PictureScores) string { return report.Number(s.TokensPerCode, 3) }},
	{"bits per pixel", func(s *tokenizer.PictureScores) string { return report.Number(s.BitsPerPixel, 4) }},
	{"pictures", func(s *tokenizer.PictureScores) string { return report.Count(s.Images) }},
}

// pictureTable compares scores of pictures.
func pictureTable(columns ...pictureScores) report.Table { return tableOf(pictureRows, columns) }

func presentPictureScores(m bundle.PictureMetrics) []pictureScores {
	return heldAndTrained(m.Held, m.Train)
}
