package report

import (
	"cmp"
	"fmt"
	"strings"
)

// Table is rows of text under columns. It renders as HTML on a page and, with
// Text, Markdown and CSV, for terminals, documents and spreadsheets.
type Table struct {
	Title   string
	Caption string
	Columns []Column
	Rows    [][]Cell // each at most len(Columns) cells; missing ones are empty
}

// Column is the head of a table column.
type Column struct {
	Name  string
	Align Align
	Note  string // meaning of the column; shown under the table
}

// Cell is one cell of a table.
type Cell struct {
	Text   string
	Strong bool   // stands out, such as the best of its column
	Muted  bool   // steps back, such as a baseline
	Link   string // optional, in HTML: address relative to the page
}

// Align is the alignment of a column's text.
type Align int

// The alignments of a Column.
const (
	Auto Align = iota // right when every cell is a number, else left
	Left
	Right
)

// Cells returns a row of plain cells.
func Cells(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	return row
}

// Columns returns columns with an alignment.
func Columns(align Align, names ...string) []Column {
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i] = Column{Name: name, Align: align}
	}
	return columns
}

func (t Table) validate() error {
	if len(t.Columns) == 0 {
		return fmt.Errorf("table %q has no columns; name at least one", t.Title)
	}
	for i, row := range t.Rows {
		if len(row) > len(t.Columns) {
			return fmt.Errorf("table %q has %d cells in row %d for %d columns; add columns or drop cells",
				t.Title, len(row), i+1, len(t.Columns))
		}
	}
	return nil
}

// cell returns the cell of a row, empty where the row is short.
func (t Table) cell(row, column int) Cell {
	if column < len(t.Rows[row]) {
		return t.Rows[row][column]
	}
	return Cell{}
}

func (t Table) alignments() []Align {
	aligns := make([]Align, len(t.Columns))
	for i := range aligns {
		aligns[i] = t.alignment(i)
	}
	return aligns
}

// alignment settles Auto for a column.
func (t Table) alignment(column int) Align {
	if align := t.Columns[column].Align; align != Auto {
		return align
	}
	align := Left
	for row := range t.Rows {
		switch text := strings.TrimSpace(t.cell(row, column).Text); {
		case text == "" || text == "-" || text == "–" || text == notAvailable:
		case isNumber(text):
			align = Right
		default:
			return Left
		}
	}
	return align
}

// isNumber tells whether s reads as a quantity: a number with at most a unit,
// a percent sign or a spread after it.
func isNumber(s string) bool {
	s = strings.TrimLeft(s, "+-−<>~≈")
	if s == "∞" {
		return true
	}
	if s == "" || s[0] < '0' || s[0] > '9' {
		return false
	}
	for _, word := range strings.Fields(s) {
		letters := 0
		digit := false
		for _, r := range word {
			switch {
			case r >= '0' && r <= '9':
				digit = true
			case strings.ContainsRune(".,-+%±∞", r):
			default:
				letters++
			}
		}
		if letters > 3 || !digit && letters > 0 && len(word) > 3 {
			return false
		}
	}
	return true
}

// wideColumns is the number of columns above which a table is set closer.
const wideColumns = 9

func (t Table) render(m *markup, _ *idSource) error {
	if err := t.validate(); err != nil {
		return err
	}
	class := "table"
	if len(t.Columns) > wideColumns {
		class += " wide"
	}
	m.open("figure", "class", class)
	m.optional("h3", t.Title)
	m.open("div", "class", "scroll", "tabindex", "0", "role", "group", "aria-label", cmp.Or(t.Title, "table"))
	m.open("table")
	m.open("thead")
	m.open("tr")
	classes := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		if classes[i] = "left"; t.alignment(i) == Right {
			classes[i] = "right"
		}
		attributes := []string{"scope", "col", "class", classes[i]}
		if c.Note != "" {
			attributes = append(attributes, "title", c.Note)
		}
		m.open("th", attributes...)
		for i, word := range strings.SplitAfter(c.Name, "/") { // units may go on in another line
			if i > 0 {
				m.empty("wbr")
			}
			m.text(word)
		}
		m.close("th")
	}
	m.close("tr", "thead")
	m.open("tbody")
	for row := range t.Rows {
		m.open("tr")
		for column := range t.Columns {
			c := t.cell(row, column)
			class := classes[column]
			if c.Muted {
				class += " muted"
			}
			m.open("td", "class", class)
			c.render(m)
			m.close("td")
		}
		m.closeLine("tr")
	}
	m.close("tbody", "table", "div")
	m.caption(t.Caption, t.notes()...)
	m.closeLine("figure")
	return nil
}

func (c Cell) render(m *markup) {
	name := "span"
	if c.Strong {
		name = "strong"
	}
	m.open(name)
	if c.Link == "" {
		m.breakable(c.Text)
	} else {
		m.open("a", "href", c.Link)
		m.breakable(c.Text)
		m.close("a")
	}
	m.close(name)
}

// breakable writes a text that may go on in another line before a deviation or an interval, and nowhere else in cells that
// are kept on one line: wide tables fit without scrolling.
func (m *markup) breakable(text string) {
	for {
		at := strings.IndexAny(text, "±[")
		if at <= 0 || text[at-1] != ' ' {
			break
		}
		m.text(text[:at])
		m.empty("wbr")
		after := at + len("±")
		if text[at] == '[' {
			after = at + 1
		}
		m.text(text[at:after])
		text = text[after:]
	}
	m.text(text)
}

func (t Table) notes() []string {
	var notes []string
	for _, c := range t.Columns {
		if c.Note != "" {
			notes = append(notes, c.Name+": "+c.Note)
		}
	}
	return notes
}
