package interactions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gritvq/gritvq/internal/parquetfile"
	"github.com/parquet-go/parquet-go"
)

// ErrUnnamed is in the errors about parquet files that may be in order, such as
// embeddings, but do not name items.
var ErrUnnamed = errors.New("has no column for the id of its items")

// readParquetItems reads an item a row.
func readParquetItems(ctx context.Context, path string, file io.ReaderAt, size int64) ([]Item, error) {
	archive, err := parquetfile.OpenColumns(path, file, size)
	if err != nil {
		return nil, err
	}
	all := findItemColumns(archive.Names())
	if all.id < 0 {
		return nil, fmt.Errorf("%s %w, only %q; call one id", path, ErrUnnamed, archive.Names())
	}
	var header []string // columns to read; others may be large
	for i, name := range archive.Names() {
		if slices.Contains([]int{all.id, all.title, all.text, all.brand, all.category}, i) {
			header = append(header, name)
		}
	}
	at, fields := findItemColumns(header), make([]string, len(header))
	var items []Item
	err = archive.EachRow(ctx, header, func(values []parquet.Value) error {
		for i, value := range values {
			fields[i] = valueText(value)
		}
		item := at.item(fields)
		if item.ID == "" {
			return fmt.Errorf("row %d of %s has no id; fill or drop it", len(items), path)
		}
		items = append(items, item)
		return nil
	})
	return items, err
}
