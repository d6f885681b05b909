// Package tables holds the flags that say how tables of logs, items and searches are read.
package tables

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/usage"
)

const columnsFlag = "columns"

// ItemFlags choose the columns of a table of items.
type ItemFlags struct{ columns []string }

const itemColumns = "ID,TITLE,CATEGORIES"

// Add adds the flag.
func (o *ItemFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&o.columns, columnsFlag, nil,
		"the columns `"+itemColumns+"` of a table of items, by name or by number from 1, as in sku,label or 1,2,7;\n"+
			"CATEGORIES may be left out (default: columns with the usual names)")
}

// Options returns the choices.
func (o *ItemFlags) Options() (interactions.ItemColumns, error) {
	parts, err := choices(o.columns, 2, 3, "name the id, the title and perhaps the categories, as in sku,label or 1,2,7")
	if parts == nil {
		return interactions.ItemColumns{}, err
	}
	return interactions.ItemColumns{ID: parts[0], Title: parts[1], Categories: parts[2]}, nil
}

// Explain adds the flag to an error about columns.
func (o *ItemFlags) Explain(err error) error { return explain(err, columnsFlag, itemColumns) }

// QueryFlags choose the columns of a table of searches.
type QueryFlags struct{ columns []string }

const queryColumns = "QUERY,ITEM"

// Add adds the flag.
func (o *QueryFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&o.columns, columnsFlag, nil,
		"the columns `"+queryColumns+"` of a table of searches, by name or by number from 1 (default: columns with the usual names)")
}

// Set writes the choices.
func (o *QueryFlags) Set(into *interactions.QueryOptions) error {
	parts, err := choices(o.columns, 2, 2, "name the search and the item, as in search_term,product_uid or 1,2")
	if parts != nil {
		into.Query, into.Item = parts[0], parts[1]
	}
	return err
}

// Explain adds the flag to an error about columns.
func (o *QueryFlags) Explain(err error) error { return explain(err, columnsFlag, queryColumns) }

// choices returns the names or numbers of columns, padded to most; nil if none is given.
func choices(given []string, least, most int, advice string) ([]string, error) {
	if given == nil {
		return nil, nil
	}
	parts := trimmed(given)
	if len(parts) < least || len(parts) > most || slices.Contains(parts, "") {
		return nil, usage.Errorf("--%s %s: %s", columnsFlag, strings.Join(given, ","), advice)
	}
	return append(parts, make([]string, most-len(parts))...), nil
}

func explain(err error, flag, columns string) error {
	if errors.Is(err, interactions.ErrColumns) {
		return fmt.Errorf("%w: --%s %s", err, flag, columns)
	}
	return err
}

func trimmed(list []string) []string {
	parts := make([]string, len(list))
	for i, part := range list {
		parts[i] = strings.TrimSpace(part)
	}
	return parts
}
