package tokenize

import (
	"math"
	"slices"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
)

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
			curveRow(s.Curve, func(c tokenizer.CurveScores) (string, float64) { return "relative error", c.RelativeError }),
			codes, [][2]string{{"bits per vector", report.Number(s.BitsPerVector, 4)}, {"vectors", report.Count(s.Vectors)}})
	case *tokenizer.PictureScores:
		return slices.Concat(
			[][2]string{{"PSNR (dB)", report.Number(s.PSNR, 4)}, {"SSIM", report.Number(s.SSIM, 4)},
				{"mean squared error", report.Number(s.MSE, 4)}},
			curveRow(s.Curve, func(c tokenizer.CurveScores) (string, float64) { return "PSNR (dB)", c.PSNR }),
			codes, [][2]string{{"bits per pixel", report.Number(s.BitsPerPixel, 4)}, {"pictures", report.Count(s.Images)}})
	}
	return codes
}

// curveRow is the main score of points between codes, none if it was not measured.
func curveRow(c *tokenizer.CurveScores, of func(c tokenizer.CurveScores) (name string, score float64)) [][2]string {
	if c == nil {
		return nil
	}
	name, score := of(*c)
	return [][2]string{{name + ", on the curve", report.Number(score, 4)}}
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
