package catalogue

import (
	"fmt"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// usageParts shows how each level's codes were used during training and at the end.
func (c *Catalogue) usageParts(stats Stats, training []vqtrain.Record) []report.Part {
	parts := trainingCharts(training)
	if len(parts) == 0 {
		parts = append(parts, report.Paragraph("These codes took no training steps, so there is no course to draw."))
	}
	rank := report.LineChart{
		Title:   "Share of the items by rank of the code",
		Caption: "The flatter the line and the further right it reaches, the better the codes of a level share the work.",
		XLabel:  "rank of the code", YLabel: "share of the items", LogX: true, LogY: true,
	}
	for level := range c.levels {
		counts := make([]float64, c.vocab[level])
		for row := range c.Len() {
			counts[c.ID(row)[level]]++
		}
		rank.Series = append(rank.Series, report.RankSeries(c.positionName(level), counts))
	}
	table := positionTable(c.Table, stats)
	table.Caption = "Of the finished IDs. Perplexity is the number of equally used codes with the same entropy."
	return append(parts, rank, table)
}

// trainingCharts draws utilization and perplexity of every level over training, or
// nothing if no step was monitored.
func trainingCharts(records []vqtrain.Record) []report.Part {
	use := report.LineChart{
		Title: "Codes in use over training",
		Caption: "Share of each level's codes that recent batches chose; the rest is dead. " +
			"A line that falls and stays down is a collapse.",
		XLabel: "step", YLabel: "codes in use (%)", Percent: true, FromZero: true,
	}
	perplexity := report.LineChart{
		Title: "Perplexity over training", Caption: "The number of equally used codes with the same entropy.",
		XLabel: "step", YLabel: "codes", FromZero: true,
	}
	add := func(chart *report.LineChart, level int, step, value float64) {
		if level == len(chart.Series) {
			chart.Series = append(chart.Series, report.Series{Name: fmt.Sprintf("level %d", level)})
		}
		s := &chart.Series[level]
		s.X, s.Y = append(s.X, step), append(s.Y, value)
	}
	for i, r := range records {
		step := float64(r.Step)
		if i > 0 && records[i-1].Phase != r.Phase {
			mark := report.Mark{X: step, Label: "codes placed"}
			use.Marks, perplexity.Marks = append(use.Marks, mark), append(perplexity.Marks, mark)
		}
		if r.Levels == nil {
			continue
		}
		for level := range r.Levels.Utilization {
			add(&use, level, step, 100*r.Levels.Utilization[level])
			add(&perplexity, level, step, r.Levels.Perplexity[level])
		}
	}
	if len(use.Series) == 0 {
		return nil
	}
	return []report.Part{use, perplexity}
}
