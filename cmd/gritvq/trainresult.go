package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
)

// trainResult is what train --json prints.
type trainResult struct {
	Bundle  string      `json:"bundle"`
	Report  string      `json:"report"`
	Steps   int         `json:"steps"`
	Seconds float64     `json:"seconds"`
	Data    bundle.Data `json:"data"`
	Held    any         `json:"held"` // scores; null without held-out items
	Train   any         `json:"train"`
}

// showTrained prints the scores of a finished run.
func showTrained(s *cli.Streams, o trainOptions, m bundle.Manifest) error {
	page := filepath.Join(o.output, bundle.ReportFile)
	if o.json {
		result := trainResult{Bundle: o.output, Report: page, Steps: m.Training.Steps, Seconds: m.Training.Seconds,
			Data: m.Data, Held: m.Metrics.Held, Train: m.Metrics.Train}
		if p := m.Metrics.Pictures; p != nil {
			result.Held, result.Train = p.Held, p.Train
		}
		return s.WriteJSON(result)
	}
	table := scoresTable(presentScores(m.Metrics)...)
	if m.Metrics.Pictures != nil {
		table = pictureTable(presentPictureScores(*m.Metrics.Pictures)...)
	}
	if err := table.Text(s.Out); err != nil {
		return err
	}
	if levels := m.Metrics.Train; levels != nil && len(levels.Utilization.Levels) > 1 {
		fmt.Fprintln(s.Out)
		if err := positionTable(m.Layout, presentScores(m.Metrics)...).Text(s.Out); err != nil {
			return err
		}
	}
	steps := fmt.Sprintf("%d steps", m.Training.Steps)
	if m.Training.Resumed > 0 {
		steps = fmt.Sprintf("steps %d to %d", m.Training.Resumed+1, m.Training.Steps)
	}
	fmt.Fprintf(s.Out, "\ntime:   %s for %s\nreport: %s\n", report.Duration(time.Duration(m.Training.Seconds*float64(time.Second))), steps, page)
	return nil
}

// column is a set of scores under a name, in a table.
type column[S any] struct {
	name   string
	scores *S
}

// line is a score in a table.
type line[S any] struct {
	name  string
	value func(s *S) string
}

// tableOf compares sets of scores side by side.
func tableOf[S any](lines []line[S], columns []column[S]) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "score"}}}
	for _, c := range columns {
		t.Columns = append(t.Columns, report.Column{Name: c.name, Align: report.Right})
	}
	for _, row := range lines {
		cells := report.Cells(row.name)
		for _, c := range columns {
			cells = append(cells, report.Cell{Text: row.value(c.scores)})
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

type namedScores = column[tokenizer.Scores]

// scoreRows are the lines of a score table of vectors.
var scoreRows = []line[tokenizer.Scores]{
	{"relative error", func(s *tokenizer.Scores) string { return relativeError(s) }},
	{"mean squared error", func(s *tokenizer.Scores) string { return report.Number(s.MSE, 4) }},
	{"cosine", func(s *tokenizer.Scores) string { return report.Number(s.Cosine, 4) }},
	{"utilization", func(s *tokenizer.Scores) string { return report.Percent(s.Utilization.Mean, 1) }},
	{"perplexity", func(s *tokenizer.Scores) string { return report.Number(s.Perplexity.Mean, 4) }},
	{"tokens per code", func(s *tokenizer.Scores) string { return report.Number(s.TokensPerCode, 3) }},
	{"bits per vector", func(s *tokenizer.Scores) string { return report.Number(s.BitsPerVector, 4) }},
	{"vectors", func(s *tokenizer.Scores) string { return report.Count(s.Vectors) }},
}

// scoresTable compares scores of vectors.
func scoresTable(columns ...namedScores) report.Table { return tableOf(scoreRows, columns) }

func presentScores(m bundle.Metrics) []namedScores { return heldAndTrained(m.Held, m.Train) }

// relativeError is n/a for vectors that are all the same: there is no spread to
// relate to.
func relativeError(s *tokenizer.Scores) string {
	if math.IsInf(s.RelativeError, 0) {
		return "n/a"
	}
	return report.Number(s.RelativeError, 4)
}

// positionColumn heads the names of code positions, which positionLabel gives:
// levels are numbered, and named with their part where there are several.
func positionColumn(l bundle.Layout) string {
	if l.Parts > 1 {
		return "code"
	}
	return "level"
}

func positionLabel(l bundle.Layout, position int) string {
	switch {
	case l.Parts == 1:
		return strconv.Itoa(position)
	case l.Levels == 1:
		return fmt.Sprintf("part %d", position)
	}
	return positionName(l, position)
}

// positionTable shows utilization and perplexity of every code position.
func positionTable(l bundle.Layout, columns ...namedScores) report.Table {
	t := report.Table{Columns: []report.Column{{Name: positionColumn(l)}}}
	for _, c := range columns {
		suffix := ""
		if len(columns) > 1 {
			suffix = ", " + c.name
		}
		t.Columns = append(t.Columns,
			report.Column{Name: "utilization" + suffix, Align: report.Right}, report.Column{Name: "perplexity" + suffix, Align: report.Right})
	}
	for position := range columns[0].scores.Utilization.Levels {
		cells := report.Cells(positionLabel(l, position))
		for _, c := range columns {
			cells = append(cells,
				report.Cell{Text: report.Percent(c.scores.Utilization.Levels[position], 1)},
				report.Cell{Text: report.Number(c.scores.Perplexity.Levels[position], 4)})
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
