package interactions

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/dataset"
)

// ReadItems reads the catalogue behind path:
//
//   - .jsonl: one object a line with an id, a title (or short_text) and
//     optionally a text, a brand and categories: a list, a list of lists (the
//     first counts), or a text with "|" or ">" between them
//   - .dat: id::title::categories, as MovieLens has it
//   - .csv, .tsv, .psv (also .item): columns of these names under a header, or
//     chosen ones; if the first line lacks the usual separator, another one of
//     comma, tab, "|" and ";" is taken
//   - .parquet: the same columns, only the id is required; the file may hold
//     embeddings too
//   - "synthetic:shop?...": the catalogue of a built-in shop, see NewShop
//
// Text is in UTF-8 or Latin-1. ctx stops the reading. Errors are one sentence
// that names the file, the line and a remedy.
func ReadItems(ctx context.Context, path string, opt ItemColumns) (*Catalogue, error) {
	if dataset.IsSynthetic(path) {
		shop, err := OpenShop(path)
		if err != nil {
			return nil, err
		}
		return shop.Catalogue, nil
	}
	in, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var items []Item
	if in.extension == ".jsonl" || in.extension == ".json" {
		if opt != (ItemColumns{}) {
			return nil, fmt.Errorf("%s is no table with columns to choose from; leave the choice out", path)
		}
		items, err = readJSONItems(ctx, path, in.withoutMark())
	} else {
		var t *table
		if t, err = in.table(".jsonl, .csv, .tsv, .psv, .dat or .parquet"); err == nil {
			items, err = readItemTable(ctx, t, opt)
		}
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
