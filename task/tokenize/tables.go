package tokenize

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
)

// column is a set of scores of a table, under a name.
type column[S any] struct {
	name   string
	scores *S
}

// row is a score of a table.
type row[S any] struct {
	name  string
	value func(s *S) string
}

// scoreRows are the scores of vectors.
var scoreRows = []row[tokenizer.Scores]{
	{"relative error", RelativeError},
	{"mean squared error", func(s *tokenizer.Scores) string { return report.Number(s.MSE, 4) }},
	{"cosine", func(s *tokenizer.Scores) string { return report.Number(s.Cosine, 4) }},
	{"utilization", func(s *tokenizer.Scores) string { return report.Percent(s.Utilization.Mean, 1) }},
	{"perplexity", func(s *tokenizer.Scores) string { return report.Number(s.Perplexity.Mean, 4) }},
	{"tokens per code", func(s *tokenizer.Scores) string { return report.Number(s.TokensPerCode, 3) }},
	{"bits per vector", func(s *tokenizer.Scores) string { return report.Number(s.BitsPerVector, 4) }},
	{"vectors", func(s *tokenizer.Scores) string { return report.Count(s.Vectors) }},
}

// pictureRows are the scores of pictures.
var pictureRows = []row[tokenizer.PictureScores]{
	{"PSNR (dB)", func(s *tokenizer.PictureScores) string { return report.Number(s.PSNR, 4) }},
	{"SSIM", func(s *tokenizer.PictureScores) string { return report.Number(s.SSIM, 4) }},
	{"mean squared error", func(s *tokenizer.PictureScores) string { return report.Number(s.MSE, 4) }},
	{"utilization", func(s *tokenizer.PictureScores) string { return report.Percent(s.Utilization.Mean, 1) }},
	{"perplexity", func(s *tokenizer.PictureScores) string { return report.Number(s.Perplexity.Mean, 4) }},
	{"tokens per code", func(s *tokenizer.PictureScores) string { return report.Number(s.TokensPerCode, 3) }},
	{"bits per pixel", func(s *tokenizer.PictureScores) string { return report.Number(s.BitsPerPixel, 4) }},
	{"pictures", func(s *tokenizer.PictureScores) string { return report.Count(s.Images) }},
}

// tableOf shows sets of scores side by side.
func tableOf[S any](rows []row[S], columns []column[S]) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "score"}}}
	for _, c := range columns {
		t.Columns = append(t.Columns, report.Column{Name: c.name, Align: report.Right})
	}
	for _, r := range rows {
		cells := report.Cells(r.name)
		for _, c := range columns {
			cells = append(cells, report.Cell{Text: r.value(c.scores)})
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// heldAndTrained are the columns of a finished run; a set without items is nil.
func heldAndTrained[S any](held, train *S) []column[S] {
	var columns []column[S]
	if held != nil {
		columns = append(columns, column[S]{"held out", held})
	}
	if train != nil {
		columns = append(columns, column[S]{"trained on", train})
	}
	return columns
}

// Tables show the scores of a finished run: one table and, for vectors of several
// code positions, another with each position.
func Tables(m bundle.Manifest) []report.Table {
	if p := m.Metrics.Pictures; p != nil {
		return []report.Table{tableOf(pictureRows, heldAndTrained(p.Held, p.Train))}
	}
	return vectorTables(m.Layout, heldAndTrained(m.Metrics.Held, m.Metrics.Train))
}

// vectorTables show scores of vectors and, if there are several, of every code
// position.
func vectorTables(l bundle.Layout, columns []column[tokenizer.Scores]) []report.Table {
	tables := []report.Table{tableOf(scoreRows, columns)}
	if len(columns[0].scores.Utilization.Levels) > 1 {
		tables = append(tables, positionTable(l, columns))
	}
	return tables
}

// RelativeError is n/a for vectors that are all equal: they have no spread to
// relate to.
func RelativeError(s *tokenizer.Scores) string {
	if math.IsInf(s.RelativeError, 0) {
		return "n/a"
	}
	return report.Number(s.RelativeError, 4)
}

// PositionColumn heads the labels of code positions.
func PositionColumn(l bundle.Layout) string {
	if l.Parts > 1 {
		return "code"
	}
	return "level"
}

// PositionLabel names a code position in a table: by its level, its part, or
// both.
func PositionLabel(l bundle.Layout, position int) string {
	switch {
	case l.Parts == 1:
		return strconv.Itoa(position)
	case l.Levels == 1:
		return fmt.Sprintf("part %d", position)
	}
	return positionName(l, position)
}

// positionName names a code position in a text.
func positionName(l bundle.Layout, position int) string {
	name := fmt.Sprintf("level %d", position%l.Levels)
	if l.Parts > 1 {
		name = fmt.Sprintf("part %d, ", position/l.Levels) + name
	}
	return name
}

// positionTable shows utilization and perplexity of every code position.
func positionTable(l bundle.Layout, columns []column[tokenizer.Scores]) report.Table {
	t := report.Table{Columns: []report.Column{{Name: PositionColumn(l)}}}
	for _, c := range columns {
		suffix := ""
		if len(columns) > 1 {
			suffix = ", " + c.name
		}
		t.Columns = append(t.Columns,
			report.Column{Name: "utilization" + suffix, Align: report.Right}, report.Column{Name: "perplexity" + suffix, Align: report.Right})
	}
	for position := range columns[0].scores.Utilization.Levels {
		cells := report.Cells(PositionLabel(l, position))
		for _, c := range columns {
			cells = append(cells,
				report.Cell{Text: report.Percent(c.scores.Utilization.Levels[position], 1)},
				report.Cell{Text: report.Number(c.scores.Perplexity.Levels[position], 4)})
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
