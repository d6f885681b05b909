package tokenize

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
)

// EvaluateOptions name a tokenizer and the data to score it on.
type EvaluateOptions struct {
	CodingOptions
	Metrics string // directory of metric networks; empty: the environment's
	Recall  int    // vectors: compare the nearest rows by codes with the nearest rows, this many; 0 is off
}

// Evaluation is the scores of a tokenizer. Its JSON is that of the result.
type Evaluation struct {
	Result tokenizer.Result // of pictures, [*picture.Scores]
	Tables []report.Table
	Notes  []string // how to read the scores
}

// MarshalJSON writes the result.
func (e *Evaluation) MarshalJSON() ([]byte, error) { return json.Marshal(e.Result) }

// Evaluate encodes and decodes every item; it scores the reconstructions and the use of the codes.
func Evaluate(ctx context.Context, o EvaluateOptions, watch task.Watcher) (*Evaluation, error) {
	t, err := o.open()
	if err != nil {
		return nil, err
	}
	set, _, err := o.data(ctx, t, watch)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	if o.Recall < 0 || o.Recall > 0 && t.pictures() {
		return nil, usage.Errorf("--recall %d: a number from 1, for tokenizers of vectors", o.Recall)
	}
	if o.Curve && !t.Runtime.Curved() {
		return nil, usage.Errorf("--curve: the codes of %s are not the corners of a curve, those of sf-diveq are; leave it out",
			t.Bundle.Tokenizer.Spec.Quantizer.Method)
	}
	if t.pictures() {
		return o.evaluatePictures(ctx, t, set, watch)
	}
	if _, err := summarize(ctx, set, watch); err != nil {
		return nil, err
	}
	var search *recallSet
	if o.Recall > 0 {
		if search, err = newRecallSet(set, o.Recall); err != nil {
			return nil, err
		}
	}
	line := watch.Line(set.Len(), "rows")
	defer line.Done()
	result, _, err := t.Runtime.Evaluate(ctx, set, dataset.All(set.Len()), o.runtime(), func(c tokenizer.Coded) error {
		line.Update(int64(c.Done), "scored")
		if search != nil {
			search.add(c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	line.Done()
	layout := t.Bundle.Manifest.Layout
	layout.Levels = cmp.Or(o.Levels, layout.Levels)
	tables := tablesOf(layout, []column{{dataset.Name(o.Input), result}})
	e := &Evaluation{Result: result, Tables: tables, Notes: slices.Clone(t.Bundle.Manifest.Training.Advice)}
	if search == nil {
		return e, nil
	}
	recall, err := search.measure(ctx, t, o.Recall, o.Workers, watch)
	if err != nil {
		return nil, err
	}
	result.(*tokenizer.Scores).Search = recall
	tables[0].Rows = append(tables[0].Rows, recallRows(recall)...)
	e.Notes = append(e.Notes, fmt.Sprintf("recall: %s searched among %s of %s, against exact search by their vectors",
		report.Counted(recall.Queries, "query vector"), report.Counted(recall.Rows, "other row"), dataset.Name(o.Input)))
	return e, nil
}

func (o EvaluateOptions) evaluatePictures(ctx context.Context, t *Opened, set dataset.Set, watch task.Watcher) (*Evaluation, error) {
	networks, err := picture.FindNetworks(picture.MetricsDir(o.Metrics))
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
	tables := tablesOf(t.Bundle.Manifest.Layout, []column{{dataset.Name(o.Input), &scores.PictureScores}})
	addPerceptual(&tables[0], scores)
	return &Evaluation{Result: &scores, Tables: tables, Notes: slices.Concat(scores.Notes, t.Bundle.Manifest.Training.Advice)}, nil
}

// addPerceptual adds the scores that need a network or an entropy coder.
func addPerceptual(t *report.Table, scores picture.Scores) {
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
}
