package interactions

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrUnnamed is in the errors about parquet files that may be in order, such as
// embeddings, but do not name items.
var ErrUnnamed = errors.New("has no column for the id of its items")

// ItemColumns choose the columns of a table of items by name or, from 1, by number; empty ones go by the usual names.
type ItemColumns struct{ ID, Title, Categories string }

// readItemTable reads an item a row. Only parquet files, which may hold embeddings, need no title.
func readItemTable(ctx context.Context, t *table, opt ItemColumns) ([]Item, error) {
	wanted := []column{
		{what: "id", usual: idNames, choice: opt.ID},
		{what: "title", usual: titleNames, choice: opt.Title, optional: t.named},
		{what: "categories", usual: categoryNames, choice: opt.Categories, optional: true},
		{what: "text", usual: textNames, optional: true},
		{what: "brand", usual: brandNames, optional: true},
	}
	header := t.named || isHeader(t.first, wanted[:3])
	if t.double && !header && opt == (ItemColumns{}) { // as MovieLens has it
		wanted[0].choice, wanted[1].choice, wanted[2].choice = "1", "2", "3"
	}
	if t.named && opt.ID == "" && wanted[0].find(t.first) < 0 {
		return nil, fmt.Errorf("%s %w, only %q; call one id, or %w", t.path, ErrUnnamed, t.first, ErrItemColumns)
	}
	at, err := places(t.path, t.first, wanted, ErrItemColumns)
	if err != nil {
		return nil, err
	}
	var items []Item
	err = t.rows(ctx, at, header, func(n int, fields []string) error {
		if fields[0] == "" {
			return fmt.Errorf("%s %d of %s has no id; fill or drop it", t.unit, n, t.path)
		}
		item := Item{ID: strings.Clone(fields[0]), Title: strings.Clone(fields[1]), Text: strings.Clone(fields[3])}
		item.Categories = splitCategories(strings.Clone(fields[2]))
		item.describe(fields[4])
		items = append(items, item)
		return nil
	})
	return items, err
}
