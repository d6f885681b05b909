package tokenize

import (
	"fmt"
	"strconv"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/vq"
)

// PositionColumn heads the labels of slots.
func PositionColumn(l vq.Layout) string {
	if l.Parts > 1 || l.Phases > 0 {
		return "code"
	}
	return "level"
}

// PositionLabel names a slot by its level, its part and its phase, as far as there are several.
func PositionLabel(l vq.Layout, slot int) string {
	switch {
	case l.Phases > 0 && l.Positions() == 1:
		return fmt.Sprintf("phase %d", slot)
	case l.Phases > 0:
	case l.Parts == 1:
		return strconv.Itoa(slot)
	case l.Levels == 1:
		return fmt.Sprintf("part %d", slot)
	}
	return positionName(l, slot)
}

func positionName(l vq.Layout, slot int) string {
	position := l.Position(slot)
	name := fmt.Sprintf("level %d", position%l.Levels)
	if l.Parts > 1 {
		name = fmt.Sprintf("part %d, ", position/l.Levels) + name
	}
	if l.Phases > 0 {
		name = fmt.Sprintf("phase %d, ", slot/l.Positions()) + name
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
