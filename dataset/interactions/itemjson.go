package interactions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/internal/rowfile"
)

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

// parseItem reads one object. Names of fields are those of columns, in any case.
func parseItem(text []byte) (Item, error) {
	var named, fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(utf8Text(string(text))), &named); err != nil {
		return Item{}, fmt.Errorf(`expected an object like {"id": 1, "title": "..."}, found %.60q`, text)
	}
	fields = make(map[string]json.RawMessage, len(named))
	for _, name := range slices.Sorted(maps.Keys(named)) { // lower case last
		fields[strings.ToLower(name)] = named[name]
	}
	find := func(names []string) json.RawMessage {
		for _, name := range names {
			if value, ok := fields[name]; ok && string(value) != "null" {
				return value
			}
		}
		return nil
	}
	item := Item{ID: plainText(find(idNames)), Title: plainText(find(titleNames)), Text: plainText(find(textNames))}
	item.Categories = parseCategories(find(categoryNames))
	if item.ID == "" {
		return Item{}, fmt.Errorf("it has no id; expected one of %s", strings.Join(idNames, ", "))
	}
	item.describe(plainText(find(brandNames)))
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
