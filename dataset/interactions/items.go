package interactions

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

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
//   - .jsonl: one object a line with an id, a title (or short_text) and
//     optionally a text, a brand and categories: a list, a list of lists (the
//     first counts), or a text with "|" or ">" between them
//   - .dat: id::title::categories, as MovieLens has it, in UTF-8 or Latin-1
//   - .csv, .tsv: columns of these names, under a header
//   - .parquet: the same columns, only the id is required; the file may hold
//     embeddings too
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
