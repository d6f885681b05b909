package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/internal/textwidth"
)

// Text prints the table for a terminal: aligned columns under a rule, then the
// caption and the notes of the columns. Control characters become spaces.
func (t Table) Text(w io.Writer) error {
	if err := t.validate(); err != nil {
		return err
	}
	widths := make([]int, len(t.Columns))
	rows := t.records()
	for _, row := range rows {
		for i, text := range row {
			row[i] = textwidth.OneLine(text)
			widths[i] = max(widths[i], textwidth.Of(row[i]))
		}
	}
	rules := make([]string, len(widths))
	for i, n := range widths {
		rules[i] = strings.Repeat("─", n)
	}
	aligns := t.alignments()
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(textwidth.OneLine(t.Title) + "\n")
	}
	for _, row := range slices.Insert(rows, 1, rules) {
		for i, text := range row {
			row[i] = pad(text, widths[i], aligns[i])
		}
		b.WriteString(strings.TrimRight(strings.Join(row, "  "), " ") + "\n")
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

// CSV prints the column names and the cells as comma-separated values.
func (t Table) CSV(w io.Writer) error {
	if err := t.validate(); err != nil {
		return err
	}
	return csv.NewWriter(w).WriteAll(t.records())
}

// records returns the column names and the texts of the cells, row by row.
func (t Table) records() [][]string {
	rows := make([][]string, 1+len(t.Rows))
	for _, c := range t.Columns {
		rows[0] = append(rows[0], c.Name)
	}
	for r := range t.Rows {
		for i := range t.Columns {
			rows[r+1] = append(rows[r+1], t.cell(r, i).Text)
		}
	}
	return rows
}

func (t Table) smallPrint() []string {
	if t.Caption == "" {
		return t.notes()
	}
	return append([]string{t.Caption}, t.notes()...)
}

// pad fills text with spaces to width columns.
func pad(text string, width int, align Align) string {
	free := strings.Repeat(" ", max(0, width-textwidth.Of(text)))
	if align == Right {
		return free + text
	}
	return text + free
}

// markdownText puts s on one line and escapes it.
func markdownText(s string) string {
	return markdownEscapes.Replace(strings.TrimSpace(textwidth.OneLine(s)))
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", ">", "&gt;", "&", "&amp;", "[", `\[`, "]", `\]`, "~", `\~`)
