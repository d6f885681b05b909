package tokenize

import (
	"fmt"
	"strconv"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/vq"
)

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
