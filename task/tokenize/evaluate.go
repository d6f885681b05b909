package tokenize

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
)

// EvaluateOptions name a tokenizer and the data to score it on.
type EvaluateOptions struct {
	CodingOptions
	Metrics string // directory of metric networks; empty: the environment's
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
	if t.pictures() {
		return o.evaluatePictures(ctx, t, set, watch)
	}
	if _, err := summarize(ctx, set, watch); err != nil {
		return nil, err
	}
	line := watch.Line(set.Len(), "rows")
	defer line.Done()
	result, _, err := t.Runtime.Evaluate(ctx, set, dataset.All(set.Len()), o.runtime(), func(c tokenizer.Coded) error {
		line.Update(int64(c.Done), "scored")
		return nil
	})
	if err != nil {
		return nil, err
	}
	layout := t.Bundle.Manifest.Layout
	layout.Levels = cmp.Or(o.Levels, layout.Levels)
	return &Evaluation{Result: result, Tables: tablesOf(layout, []column{{dataset.Name(o.Input), result}})}, nil
}

func (o EvaluateOptions) evaluatePictures(ctx context.Context, t *Opened, set dataset.Set, watch task.Watcher) (*Evaluation, error) {
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
	tables := tablesOf(t.Bundle.Manifest.Layout, []column{{dataset.Name(o.Input), &scores.PictureScores}})
	addPerceptual(&tables[0], scores)
	return &Evaluation{Result: &scores, Tables: tables, Notes: scores.Notes}, nil
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

type column struct {
	name   string
	result tokenizer.Result
}

func scoreRows(r tokenizer.Result) [][2]string {
	use := r.Use()
	codes := [][2]string{
		{"utilization", report.Percent(use.Utilization.Mean, 1)},
		{"perplexity", report.Number(use.Perplexity.Mean, 4)},
		{"tokens per code", report.Number(use.TokensPerCode, 3)},
	}
	switch s := r.(type) {
	case *tokenizer.Scores:
		return slices.Concat(
			[][2]string{{"relative error", RelativeError(s)}, {"mean squared error", report.Number(s.MSE, 4)},
				{"cosine", report.Number(s.Cosine, 4)}},
			codes, [][2]string{{"bits per vector", report.Number(s.BitsPerVector, 4)}, {"vectors", report.Count(s.Vectors)}})
	case *tokenizer.PictureScores:
		return slices.Concat(
			[][2]string{{"PSNR (dB)", report.Number(s.PSNR, 4)}, {"SSIM", report.Number(s.SSIM, 4)},
				{"mean squared error", report.Number(s.MSE, 4)}},
			codes, [][2]string{{"bits per pixel", report.Number(s.BitsPerPixel, 4)}, {"pictures", report.Count(s.Images)}})
	}
	return codes
}

// Tables show the scores of a finished run.
func Tables(m bundle.Manifest) []report.Table {
	var columns []column
	held, train := m.Metrics.Results()
	if held != nil {
		columns = append(columns, column{"held out", held})
	}
	if train != nil {
		columns = append(columns, column{"trained on", train})
	}
	return tablesOf(m.Layout, columns)
}

// tablesOf shows results side by side and, for vectors of several code positions, every position.
func tablesOf(l vq.Layout, columns []column) []report.Table {
	t := report.Table{Columns: []report.Column{{Name: "score"}}}
	for i, c := range columns {
		t.Columns = append(t.Columns, report.Column{Name: c.name, Align: report.Right})
		for at, row := range scoreRows(c.result) {
			if i == 0 {
				t.Rows = append(t.Rows, report.Cells(row[0]))
			}
			t.Rows[at] = append(t.Rows[at], report.Cell{Text: row[1]})
		}
	}
	tables := []report.Table{t}
	if _, vectors := columns[0].result.(*tokenizer.Scores); vectors && len(columns[0].result.Use().Utilization.Levels) > 1 {
		tables = append(tables, positionTable(l, columns))
	}
	return tables
}

// RelativeError is n/a for vectors that are all equal: they have no spread.
func RelativeError(s *tokenizer.Scores) string {
	if math.IsInf(s.RelativeError, 0) {
		return "n/a"
	}
	return report.Number(s.RelativeError, 4)
}

// PositionColumn heads the labels of code positions.
func PositionColumn(l vq.Layout) string {
	if l.Parts > 1 {
		return "code"
	}
	return "level"
}

// PositionLabel names a code position by its level, its part, or both.
func PositionLabel(l vq.Layout, position int) string {
	switch {
	case l.Parts == 1:
		return strconv.Itoa(position)
	case l.Levels == 1:
		return fmt.Sprintf("part %d", position)
	}
	return positionName(l, position)
}

func positionName(l vq.Layout, position int) string {
	name := fmt.Sprintf("level %d", position%l.Levels)
	if l.Parts > 1 {
		name = fmt.Sprintf("part %d, ", position/l.Levels) + name
	}
	return name
}

func positionTable(l vq.Layout, columns []column) report.Table {
	t := report.Table{Columns: []report.Column{{Name: PositionColumn(l)}}}
	for i, c := range columns {
		suffix := ""
		if len(columns) > 1 {
			suffix = ", " + c.name
		}
		t.Columns = append(t.Columns,
			report.Column{Name: "utilization" + suffix, Align: report.Right}, report.Column{Name: "perplexity" + suffix, Align: report.Right})
		use := c.result.Use()
		for position := range use.Utilization.Levels {
			if i == 0 {
				t.Rows = append(t.Rows, report.Cells(PositionLabel(l, position)))
			}
			t.Rows[position] = append(t.Rows[position], report.Cell{Text: report.Percent(use.Utilization.Levels[position], 1)},
				report.Cell{Text: report.Number(use.Perplexity.Levels[position], 4)})
		}
	}
	return t
}
