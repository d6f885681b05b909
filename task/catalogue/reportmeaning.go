package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/report"
)

// Bounds of a report.
const (
	shownGroups  = 12  // collisions
	shownTitles  = 5   // of a collision
	exampleItems = 3   // of a code
	shownCodes   = 12  // codes with their items
	shownItems   = 12  // of one prefix
	longestTitle = 72  // characters of a title among others
	dictionary   = 512 // first codes in the list of all
)

func (c *Catalogue) collisionNote(stats Stats) string {
	const equal = "Items to which the tokenizer gave equal codes. "
	switch {
	case stats.Before.Rate == 0:
		return "The tokenizer gave every item codes of its own."
	case c.resolution == Reassign:
		return equal + "The first keeps them, the others have the nearest last code that was free."
	}
	return equal + "The token at the end of their IDs tells them apart."
}

// collisionParts lists the sizes of groups and the items of the largest.
func (c *Catalogue) collisionParts(stats Stats) []report.Part {
	groups := c.Largest(shownGroups)
	if len(groups) == 0 {
		return nil
	}
	sizes := report.Table{Title: "Items with the same codes", Columns: rightAligned("items a group", "groups", "share of the items")}
	for _, g := range stats.Groups {
		share := float64(g.Size*g.Groups) / float64(stats.Items)
		sizes.Rows = append(sizes.Rows, report.Cells(report.Count(g.Size), report.Count(g.Groups), report.Percent(share, 2)))
	}
	largest := report.Table{Title: "The largest groups", Columns: append(rightAligned("codes", "items"), report.Column{Name: "titles"})}
	for _, rows := range groups {
		largest.Rows = append(largest.Rows,
			report.Cells(FormatCodes(c.Codes(rows[0])), report.Count(len(rows)), c.titles(rows, shownTitles)))
	}
	return []report.Part{largest, sizes}
}

// meaningParts shows the items of the most used first codes, one path down to
// single items, and all first codes.
func (c *Catalogue) meaningParts() []report.Part {
	words := NewWords(c.Items.Texts())
	all := c.Branches(nil)
	first := mostItems(all, shownCodes)
	parts := []report.Part{c.branchTable("The most used first codes", words, nil, first)}
	path := []uint32{first[0].Code}
	if c.levels > 1 {
		second := mostItems(c.Branches(path), shownCodes)
		parts = append(parts, c.branchTable(fmt.Sprintf("Below code %s: the most used second codes", FormatCodes(path)), words, path, second))
		path = append(path, second[0].Code)
	}
	parts = append(parts, c.itemTable(path))
	if len(all) > dictionary {
		return parts
	}
	return append(parts, c.branchTable("All first codes", words, nil, all))
}

// mostItems returns up to limit branches, those with the most items first.
func mostItems(list []Branch, limit int) []Branch {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b Branch) int { return b.Items - a.Items })
	return sorted[:min(limit, len(sorted))]
}

// branchTable describes the items below each code that follows prefix.
func (c *Catalogue) branchTable(title string, words *Words, prefix []uint32, list []Branch) report.Table {
	columns := append(rightAligned("code", "items"), report.Column{Name: "typical words"}, report.Column{Name: "for example"})
	table := report.Table{Title: title, Columns: columns}
	for _, b := range list {
		path := append(slices.Clone(prefix), b.Code)
		rows := slices.Collect(c.Under(path))
		table.Rows = append(table.Rows, report.Cells(FormatCodes(path), report.Count(b.Items),
			strings.Join(words.Typical(rows, shownWords), ", "), c.titles(spread(rows, exampleItems), exampleItems)))
	}
	return table
}

// itemTable lists items whose IDs begin with prefix.
func (c *Catalogue) itemTable(prefix []uint32) report.Table {
	rows := slices.Collect(c.Under(prefix))
	table := report.Table{
		Title:   "Items whose IDs begin with " + FormatCodes(prefix),
		Columns: []report.Column{{Name: "ID", Align: report.Left}, {Name: "item"}, {Name: "title"}},
	}
	if len(rows) > shownItems {
		table.Caption = fmt.Sprintf("%d of %d.", shownItems, len(rows))
	}
	for _, row := range rows[:min(shownItems, len(rows))] {
		table.Rows = append(table.Rows, report.Cells(FormatCodes(c.ID(row)), c.Key(row), c.label(row)))
	}
	return table
}

// spread picks n rows evenly.
func spread(rows []int, n int) []int {
	if len(rows) <= n {
		return rows
	}
	picked := make([]int, n)
	for i := range picked {
		picked[i] = rows[i*len(rows)/n]
	}
	return picked
}

// titles lists up to limit shortened titles, and counts the rest.
func (c *Catalogue) titles(rows []int, limit int) string {
	var titles []string
	for _, row := range rows[:min(limit, len(rows))] {
		title := c.label(row)
		if runes := []rune(title); len(runes) > longestTitle {
			title = strings.TrimRight(string(runes[:longestTitle-1]), " ,.-") + "…"
		}
		titles = append(titles, title)
	}
	text := strings.Join(titles, " · ")
	if len(rows) > limit {
		text += fmt.Sprintf(" · and %d more", len(rows)-limit)
	}
	return text
}

// label is the title of an item, or its name if it has none.
func (c *Catalogue) label(row int) string {
	if item := c.Items.Items[row]; item.Title != "" {
		return item.Title
	}
	return "item " + c.Key(row)
}
