package main

import (
	"context"
	"fmt"
	"math"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
)

// evalPictures takes all scores of a tokenizer of pictures.
func evalPictures(ctx context.Context, s *cli.Streams, o evalOptions, b *bundle.Bundle, r *tokenizer.Runtime) error {
	set, err := openPictures(ctx, s, o.input, b.Tokenizer.Spec.Model.Image, o.workers)
	if err != nil {
		return err
	}
	defer set.Close()
	networks, err := picture.FindNetworks(metricsDir(o.metrics))
	if err != nil {
		return err
	}
	for _, sentence := range networks.Skipped() {
		s.Remark("%s", sentence)
	}
	engine, err := engine.Choose(o.backend)
	if err != nil {
		return err
	}
	line := s.Line(set.Len(), "pictures")
	defer line.Done()
	scores, _, err := picture.Evaluate(ctx, r, set, dataset.All(set.Len()), networks, picture.Options{
		Options: tokenizer.Options{Levels: o.levels, Beam: o.beam}, Backend: engine, Entropy: b.Entropy,
		Progress: func(done, _ int) { line.Update(int64(done), "scored") },
	})
	if err != nil {
		return err
	}
	line.Done()
	if o.json {
		return s.WriteJSON(scores)
	}
	if err := fullPictureTable(dataset.Name(o.input), scores).Text(s.Out); err != nil {
		return err
	}
	for _, note := range scores.Notes {
		s.Remark("%s", note)
	}
	return nil
}

// fullPictureTable shows every score that was taken.
func fullPictureTable(name string, scores picture.Scores) report.Table {
	t := pictureTable(pictureScores{name, &scores.PictureScores})
	add := func(score, value string) { t.Rows = append(t.Rows, report.Cells(score, value)) }
	if !math.IsNaN(scores.CodedBitsPerPixel) {
		add("bits per pixel, coded", report.Number(scores.CodedBitsPerPixel, 4))
	}
	if scores.LPIPSNetwork != "" {
		add(fmt.Sprintf("LPIPS (%s)", scores.LPIPSNetwork), report.Number(scores.LPIPS, 4))
	}
	if scores.FrechetNetwork != "" {
		add(fmt.Sprintf("Frechet distance (%s)", scores.FrechetNetwork), report.Number(scores.Frechet, 4))
		add(fmt.Sprintf("kernel distance (%s)", scores.FrechetNetwork), report.Number(scores.KID, 4))
	}
	return t
}
