package interactions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/rowfile"
)

// Names that the fields of an item go by, the preferred one first.
var (
	idFields = []string{"id", "item", "item_id", "movieId", "product_id", "parent_asin", "asin", "itemid", "iid", "movie_id",
		"productid", "product", "key"}
	titleFields    = []string{"title", "name", "product_title", "short_text"}
	textFields     = []string{"text"}
	brandFields    = []string{"brand", "product_brand", "store"}
	categoryFields = []string{"categories", "category", "genres"}
)

// ReadItems reads the catalogue behind path:
//
//   - .jsonl: one object a line with an id, a title (or short_text) and, where
//     there are any, a text, a brand and categories: a list, a list of lists,
//     of which the first counts, or a text with "|" or ">" between them
//   - .dat: id::title::categories, as MovieLens has it, in UTF-8 or Latin-1
//   - .csv, .tsv: columns of these names, under a header
//   - .parquet: the same, of which only that of the id must be there; the file
//     may hold embeddings too
//   - "synthetic:shop?...": the catalogue of a built-in shop, see NewShop
//
// ctx stops the reading. Errors are one sentence that names the file, the line
// and a remedy.
func ReadItems(ctx context.Context, path string) (*Catalogue, error) {
	if dataset.IsSynthetic(path) {
		shop, err := OpenShop(path)
		if err != nil {
			return nil, err
		}
		return shop.Catalogue, nil
	}
	file, size, err := rowfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var items []Item
	text := withoutMark(file)
	switch extension := strings.ToLower(filepath.Ext(path)); extension {
	case ".jsonl", ".json":
		items, err = readJSONItems(ctx, path, text)
	case ".dat":
		items, err = readTableItems(ctx, path, doubleColonRows(path, text), []string{"id", "title", "genres"})
	case ".csv", ".tsv":
		var rows rowReader
		if rows, err = tableRows(path, extension, text); err == nil {
			items, err = readTableItems(ctx, path, rows, nil)
		}
	case ".parquet":
		items, err = readParquetItems(ctx, path, file, size)
	default:
		return nil, fmt.Errorf("%s holds no items this program can read; expected .jsonl, .csv, .tsv, .dat or .parquet", path)
	}
	if err != nil {
		return nil, err
	}
	c, err := NewCatalogue(items)
	if err != nil {
		return nil, fmt.Errorf("%s is no catalogue: %w; check what was saved", path, err)
	}
	return c, nil
}

func readJSONItems(ctx context.Context, path string, in io.Reader) ([]Item, error) {
	var items []Item
	lines := rowfile.NewLines(in)
	for line := 1; lines.Scan(); line++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading %s was stopped: %w", path, err)
		}
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		item, err := parseItem(text)
		if err != nil {
			return nil, fmt.Errorf("line %d of %s is no item: %w", line, path, err)
		}
		items = append(items, item)
	}
	return items, rowfile.LinesError(path, lines)
}

// parseItem reads one object.
func parseItem(text []byte) (Item, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return Item{}, fmt.Errorf(`expected an object like {"id": 1, "title": "..."}, found %.60q`, text)
	}
	find := func(names []string) json.RawMessage {
		for _, name := range names {
			if value, ok := fields[name]; ok && string(value) != "null" {
				return value
			}
		}
		return nil
	}
	item := Item{ID: plainText(find(idFields)), Title: plainText(find(titleFields)), Text: plainText(find(textFields))}
	item.Categories = parseCategories(find(categoryFields))
	if item.ID == "" {
		return Item{}, fmt.Errorf("it has no id; expected one of %s", strings.Join(idFields, ", "))
	}
	item.describe(plainText(find(brandFields)))
	return item, nil
}

// plainText returns a string or a number as text, and nothing for other values.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.TrimSpace(text)
	}
	var number json.Number
	if json.Unmarshal(value, &number) == nil {
		return number.String()
	}
	return ""
}

// parseCategories reads a path of categories, or the first of several paths.
func parseCategories(value json.RawMessage) []string {
	var paths [][]string
	if json.Unmarshal(value, &paths) == nil && len(paths) > 0 {
		return slices.DeleteFunc(paths[0], func(name string) bool { return name == "" })
	}
	var path []string
	if json.Unmarshal(value, &path) == nil {
		return slices.DeleteFunc(path, func(name string) bool { return name == "" })
	}
	return splitCategories(plainText(value))
}

func splitCategories(text string) []string {
	var path []string
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == '>' }) {
		if name = strings.TrimSpace(name); name != "" {
			path = append(path, name)
		}
	}
	return path
}

// readTableItems reads an item a row, in columns of these names or, if there
// are none, those of the header.
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

// utf8Text returns text that is not UTF-8 as the Latin-1 that it then is.
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
