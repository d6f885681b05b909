package tokenize

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
)

// EvaluateOptions name a tokenizer and the data to score it on.
type EvaluateOptions struct {
	CodingOptions
	Metrics string // directory of metric networks; empty: the environment's
}

// Evaluation is the scores of a tokenizer: of vectors or of pictures. Its JSON is
// that of the scores.
type Evaluation struct {
	Vectors  *tokenizer.Scores
	Pictures *picture.Scores
	Tables   []report.Table
}

// MarshalJSON writes the scores.
func (e *Evaluation) MarshalJSON() ([]byte, error) {
	if e.Pictures != nil {
		return json.Marshal(e.Pictures)
	}
	return json.Marshal(e.Vectors)
}

// Notes say how to read the scores.
func (e *Evaluation) Notes() []string {
	if e.Pictures == nil {
		return nil
	}
	return e.Pictures.Notes
}

// Evaluate encodes and decodes every item and scores the reconstructions and the
// use of the codes.
func Evaluate(ctx context.Context, o EvaluateOptions, watch task.Watcher) (*Evaluation, error) {
	t, err := o.open()
	if err != nil {
		return nil, err
	}
	if t.pictures() {
		return o.evaluatePictures(ctx, t, watch)
	}
	v, _, err := OpenVectors(ctx, o.Input, o.Drop, watch)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	if err := CheckDimension(v, t.Bundle.Manifest.Input); err != nil {
		return nil, err
	}
	if _, err := scan(ctx, v, watch); err != nil {
		return nil, err
	}
	line := watch.Line(v.Len(), "rows")
	defer line.Done()
	result, _, err := t.Runtime.Evaluate(ctx, v, dataset.All(v.Len()), o.runtime(), func(c tokenizer.Coded) error {
		line.Update(int64(c.Done), "scored")
		return nil
	})
	if err != nil {
		return nil, err
	}
	scores := result.(*tokenizer.Scores)
	layout := t.Bundle.Manifest.Layout
	if o.Levels > 0 {
		layout.Levels = o.Levels
	}
	columns := []column[tokenizer.Scores]{{dataset.Name(o.Input), scores}}
	return &Evaluation{Vectors: scores, Tables: vectorTables(layout, columns)}, nil
}

func (o EvaluateOptions) evaluatePictures(ctx context.Context, t *Opened, watch task.Watcher) (*Evaluation, error) {
	set, err := OpenPictures(ctx, o.Input, t.Bundle.Tokenizer.Spec.Model.Image, o.Workers, watch)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	networks, err := picture.FindNetworks(MetricsDir(o.Metrics))
	if err != nil {
		return nil, err
	}
	for _, sentence := range networks.Skipped() {
		watch.Remark("%s", sentence)
	}
	line := watch.Line(set.Len(), "pictures")
	defer line.Done()
	scores, _, err := picture.Evaluate(ctx, t.Runtime, set, dataset.All(set.Len()), networks, picture.Options{
		Options: o.runtime(), Backend: t.Backend, Entropy: t.Bundle.Entropy,
		Progress: func(done, _ int) { line.Update(int64(done), "scored") },
	})
	if err != nil {
		return nil, err
	}
	return &Evaluation{Pictures: &scores, Tables: []report.Table{fullPictureTable(dataset.Name(o.Input), scores)}}, nil
}

// fullPictureTable shows every score that was taken.
func fullPictureTable(name string, scores picture.Scores) report.Table {
	t := tableOf(pictureRows, []column[tokenizer.PictureScores]{{name, &scores.PictureScores}})
	add := func(score string, value float64) {
		t.Rows = append(t.Rows, report.Cells(score, report.Number(value, 4)))
	}
	if !math.IsNaN(scores.CodedBitsPerPixel) {
		add("bits per pixel, coded", scores.CodedBitsPerPixel)
	}
	if scores.LPIPSNetwork != "" {
		add(fmt.Sprintf("LPIPS (%s)", scores.LPIPSNetwork), scores.LPIPS)
	}
	if scores.FrechetNetwork != "" {
		add(fmt.Sprintf("Frechet distance (%s)", scores.FrechetNetwork), scores.Frechet)
		add(fmt.Sprintf("kernel distance (%s)", scores.FrechetNetwork), scores.KID)
	}
	return t
}
