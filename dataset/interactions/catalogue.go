package interactions

import (
	"fmt"
	"strings"
)

// Item is one entry of a catalogue.
type Item struct {
	ID    string
	Title string
	// Text is the input of a text encoder: the file's own text, or title, brand
	// and categories in one line.
	Text string
	// Categories lead from the widest to the narrowest, if the file has them.
	Categories []string
}

// Catalogue is a list of items with distinct names, in the order of its file:
// that of the rows of an embedding made from it.
type Catalogue struct {
	Items []Item
	rows  map[string]int32
}

// NewCatalogue makes a catalogue of items. It fails without any, and on a name
// that is empty or repeated.
func NewCatalogue(items []Item) (*Catalogue, error) {
	if len(items) == 0 {
		return nil, fmt.Errorf("a catalogue needs at least one item")
	}
	c := &Catalogue{Items: items, rows: make(map[string]int32, len(items))}
	for i, item := range items {
		if item.ID == "" {
			return nil, fmt.Errorf("item %d has no name", i)
		}
		if first, twice := c.rows[item.ID]; twice {
			return nil, fmt.Errorf("items %d and %d are both called %q", first, i, item.ID)
		}
		c.rows[item.ID] = int32(i)
	}
	return c, nil
}

// Len is the number of items.
func (c *Catalogue) Len() int { return len(c.Items) }

// Row returns the place of an item in the catalogue.
func (c *Catalogue) Row(id string) (int, bool) {
	row, known := c.rows[id]
	return int(row), known
}

// RowsOf returns the place of every item of a log. It fails on items that are not in the catalogue.
func (c *Catalogue) RowsOf(log *Log) ([]int32, error) {
	rows := make([]int32, log.Items())
	var missing []string
	for i := range rows {
		row, known := c.rows[log.Item(i)]
		if !known {
			missing = append(missing, log.Item(i))
		}
		rows[i] = row
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%d of the %d items of %s are not in the catalogue, such as %q (the catalogue has items such as %q); "+
			"give the log and the items of one catalogue", len(missing), log.Items(), log.Path(), missing[0], c.Items[0].ID)
	}
	return rows, nil
}

// Texts returns the text of every item, in order.
func (c *Catalogue) Texts() []string {
	texts := make([]string, c.Len())
	for i, item := range c.Items {
		texts[i] = item.Text
	}
	return texts
}

// describe fills in the text of an item that has none.
func (item *Item) describe(brand string) {
	if item.Text != "" {
		return
	}
	var parts []string
	for _, part := range []string{item.Title, brand, strings.Join(item.Categories, ", ")} {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	item.Text = strings.Join(parts, ". ")
}
