package interactions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// readTableItems reads one item a row, from columns with these names; without
// names the first row is the header.
func readTableItems(ctx context.Context, path string, rows rowReader, header []string) ([]Item, error) {
	if header == nil {
		first, _, err := rows.nextRow(path)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		header = slices.Clone(first)
	}
	at := findItemColumns(header)
	if at.id < 0 || at.title < 0 {
		return nil, fmt.Errorf("the header of %s is %q: it needs a column for the id and one for the title", path, header)
	}
	var items []Item
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading %s was stopped: %w", path, err)
		}
		fields, line, err := rows.nextRow(path)
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		item := at.item(fields)
		if item.ID == "" {
			return nil, fmt.Errorf("line %d of %s has no id; fill or drop it", line, path)
		}
		items = append(items, item)
	}
}

// itemColumns are the places of an item's fields in a row, -1 for those that are
// not there.
type itemColumns struct{ id, title, text, brand, category int }

func findItemColumns(header []string) itemColumns {
	find := func(names []string) int {
		for _, name := range names {
			if i := slices.IndexFunc(header, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), name) }); i >= 0 {
				return i
			}
		}
		return -1
	}
	return itemColumns{find(idFields), find(titleFields), find(textFields), find(brandFields), find(categoryFields)}
}

// item reads a row; its ID is empty if the row has none.
func (c itemColumns) item(fields []string) Item {
	field := func(at int) string {
		if at < 0 || at >= len(fields) {
			return ""
		}
		return strings.TrimSpace(utf8Text(fields[at]))
	}
	item := Item{ID: field(c.id), Title: field(c.title), Text: field(c.text), Categories: splitCategories(field(c.category))}
	item.describe(field(c.brand))
	return item
}

// utf8Text decodes text as Latin-1 if it is not UTF-8.
func utf8Text(text string) string {
	if utf8.ValidString(text) {
		return strings.Clone(text)
	}
	runes := make([]rune, len(text))
	for i := range len(text) {
		runes[i] = rune(text[i])
	}
	return string(runes)
}
