package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/gritvq/gritvq/internal/textwidth"
)

// Text prints the table for a terminal: aligned columns under a rule, then
// the caption and the notes of the columns. Control characters in cells
// become spaces.
func (t Table) Text(w io.Writer) error {
	if err := t.validate(); err != nil {
		return err
	}
	widths := make([]int, len(t.Columns))
	head := make([]string, len(t.Columns))
	rows := make([][]string, len(t.Rows))
	for i, c := range t.Columns {
		head[i] = textwidth.OneLine(c.Name)
		widths[i] = textwidth.Of(head[i])
	}
	for r := range t.Rows {
		rows[r] = make([]string, len(t.Columns))
		for i := range t.Columns {
			rows[r][i] = textwidth.OneLine(t.cell(r, i).Text)
			widths[i] = max(widths[i], textwidth.Of(rows[r][i]))
		}
	}
	aligns := t.alignments()
	var b strings.Builder
	writeRow := func(cells []string) {
		var line strings.Builder
		for i, text := range cells {
			if i > 0 {
				line.WriteString("  ")
			}
			line.WriteString(pad(text, widths[i], aligns[i]))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	if t.Title != "" {
		b.WriteString(textwidth.OneLine(t.Title) + "\n")
	}
	writeRow(head)
	rules := make([]string, len(widths))
	for i, n := range widths {
		rules[i] = strings.Repeat("─", n)
	}
	writeRow(rules)
	for _, row := range rows {
		writeRow(row)
	}
	for _, line := range t.smallPrint() {
		b.WriteString(textwidth.OneLine(line) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown prints the table as a pipe table with its title above and its
// caption and notes below; strong cells are bold.
func (t Table) Markdown(w io.Writer) error {
	if err := t.validate(); err != nil {
		return err
	}
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "**%s**\n\n", markdownText(t.Title))
	}
	b.WriteString("|")
	for _, c := range t.Columns {
		b.WriteString(" " + markdownText(c.Name) + " |")
	}
	b.WriteString("\n|")
	for _, align := range t.alignments() {
		b.WriteString(map[Align]string{Left: "---", Right: "--:"}[align] + "|")
	}
	b.WriteString("\n")
	for r := range t.Rows {
		b.WriteString("|")
		for i := range t.Columns {
			cell := t.cell(r, i)
			text := markdownText(cell.Text)
			if cell.Strong && text != "" {
				text = "**" + text + "**"
			}
			b.WriteString(" " + text + " |")
		}
		b.WriteString("\n")
	}
	for _, line := range t.smallPrint() {
		b.WriteString("\n" + markdownText(line) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// CSV prints the column names and the cells as comma-separated values, and
// nothing else.
func (t Table) CSV(w io.Writer) error {
	if err := t.validate(); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	record := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		record[i] = c.Name
	}
	if err := out.Write(record); err != nil {
		return err
	}
	for r := range t.Rows {
		for i := range t.Columns {
			record[i] = t.cell(r, i).Text
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func (t Table) smallPrint() []string {
	if t.Caption == "" {
		return t.notes()
	}
	return append([]string{t.Caption}, t.notes()...)
}

func (t Table) alignments() []Align {
	aligns := make([]Align, len(t.Columns))
	for i := range aligns {
		aligns[i] = t.alignment(i)
	}
	return aligns
}

// pad fills text with spaces to width columns.
func pad(text string, width int, align Align) string {
	free := strings.Repeat(" ", max(0, width-textwidth.Of(text)))
	if align == Right {
		return free + text
	}
	return text + free
}

// markdownText keeps s on one line and its characters from meaning anything.
func markdownText(s string) string {
	return markdownEscapes.Replace(strings.TrimSpace(textwidth.OneLine(s)))
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", ">", "&gt;", "&", "&amp;", "[", `\[`, "]", `\]`, "~", `\~`)
