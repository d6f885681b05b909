package catalogue

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/report"
)

// ItemsFile holds names and titles of the items, in the order of the table's rows.
const ItemsFile = "items.jsonl"

// Catalogue is a table of IDs with its items. Any number of goroutines may read it.
type Catalogue struct {
	*Table
	// Items are those of the table, row by row.
	Items *interactions.Catalogue
	dir   string
	split sync.Once
	words *Words // of the items, once they are shown
}

// Open reads the table in dir, as Load does, and its items.
func Open(ctx context.Context, dir string) (*Catalogue, error) {
	table, err := Load(dir)
	if err != nil {
		return nil, err
	}
	return table.WithItems(ctx, dir)
}

// WithItems reads the items of a table from its directory or that of a model trained on it. The file may hold
// more items than the table: Add writes the items first.
func (t *Table) WithItems(ctx context.Context, dir string) (*Catalogue, error) {
	path := filepath.Join(dir, ItemsFile)
	items, err := interactions.ReadItems(ctx, path)
	if err != nil {
		return nil, err
	}
	if items.Len() < t.Len() {
		return nil, fmt.Errorf("%s has %s, the table %d; restore it, or make the IDs anew", path, report.Counted(items.Len(), "item"), t.Len())
	}
	if items.Len() > t.Len() {
		items, err = interactions.NewCatalogue(items.Items[:t.Len()])
	}
	return &Catalogue{Table: t, Items: items, dir: dir}, err
}

// Title returns the title of an item, or "" if it has none or is not in the catalogue.
func (c *Catalogue) Title(key string) string {
	if row, ok := c.Items.Row(key); ok {
		return c.Items.Items[row].Title
	}
	return ""
}

// Label returns the title of a row, or its name if it has none.
func (c *Catalogue) Label(row int) string {
	return cmp.Or(c.Title(c.Key(row)), "item "+c.Key(row))
}

type itemLine struct {
	ID         string   `json:"id"`
	Title      string   `json:"title,omitempty"`
	Text       string   `json:"text,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

// WriteItems stores items in dir, for WithItems.
func WriteItems(dir string, items []interactions.Item) error {
	lines := make([]itemLine, len(items))
	for i, item := range items {
		lines[i] = itemLine(item)
	}
	return atomicfile.WriteJSON(filepath.Join(dir, ItemsFile), "", lines...)
}
