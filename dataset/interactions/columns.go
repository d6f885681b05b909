package interactions

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrColumns marks errors that another choice of columns may fix, so that a
// program can explain to its users how to choose them.
var ErrColumns = errors.New("choose the columns")

// ErrItemColumns is the [ErrColumns] of tables of items.
var ErrItemColumns = fmt.Errorf("%w", ErrColumns)

// column is a column that a reader looks for.
type column struct {
	what     string   // in messages
	usual    []string // names it goes by, the preferred one first, in lower case
	choice   string   // a name or, from 1, a number; empty: one of the usual names
	optional bool
}

// Names that columns go by.
var (
	userNames = []string{"user", "user_id", "userid", "uid", "reviewerid", "customer_id", "session", "session_id"}
	itemNames = []string{"item", "item_id", "itemid", "iid", "movieid", "movie_id", "product", "product_id", "productid", "product_uid",
		"asin", "parent_asin"}
	timeNames = []string{"time", "timestamp", "unixreviewtime", "date", "datetime", "ts"}

	idNames = []string{"id", "item", "item_id", "movieid", "product_id", "parent_asin", "asin", "itemid", "iid", "movie_id",
		"productid", "product_uid", "product", "key"}
	titleNames    = []string{"title", "name", "product_title", "short_text"}
	textNames     = []string{"text"}
	brandNames    = []string{"brand", "product_brand", "store"}
	categoryNames = []string{"categories", "category", "genres"}

	queryNames = []string{"query", "search", "search_term", "search_query", "keywords", "question", "text"}
	partNames  = []string{"split", "part"}
)

// find returns the place of the column, -1 if it is not there.
func (c column) find(names []string) int {
	if n, err := strconv.Atoi(c.choice); err == nil {
		if n < 1 || n > len(names) {
			return -1
		}
		return n - 1
	}
	if c.choice != "" {
		return slices.Index(names, c.choice)
	}
	return c.findUsual(names)
}

func (c column) findUsual(names []string) int {
	for _, usual := range c.usual {
		if at := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, usual) }); at >= 0 {
			return at
		}
	}
	return -1
}

// names says whether a row holds a name of the column: then it is a header.
func (c column) names(row []string) bool {
	_, err := strconv.Atoi(c.choice)
	return c.findUsual(row) >= 0 || err != nil && c.choice != "" && slices.Contains(row, c.choice)
}

// places finds columns among the names of a table, -1 for optional ones that are not there. Errors wrap remedy.
func places(path string, names []string, wanted []column, remedy error) ([]int, error) {
	at := make([]int, len(wanted))
	for i, c := range wanted {
		if at[i] = c.find(names); at[i] < 0 && (!c.optional || c.choice != "") {
			return nil, c.missing(path, names, remedy)
		}
		if at[i] < 0 {
			continue
		}
		if other := slices.Index(at[:i], at[i]); other >= 0 {
			return nil, fmt.Errorf("column %q of %s cannot be two: the %s and the %s; %w",
				names[at[i]], path, wanted[other].what, c.what, remedy)
		}
	}
	return at, nil
}

// missing says which column could not be found, and among which.
func (c column) missing(path string, names []string, remedy error) error {
	if c.choice != "" {
		return fmt.Errorf("%s has no column %q for the %s, among %q; %w", path, c.choice, c.what, names, remedy)
	}
	return fmt.Errorf("no column of %s goes by a usual name for the %s (%s), among %q; %w",
		path, c.what, strings.Join(c.usual, ", "), names, remedy)
}

// isHeader reports whether the first row of a text names columns: it holds a usual name or a chosen one.
func isHeader(first []string, wanted []column) bool {
	return slices.ContainsFunc(wanted, func(c column) bool { return c.names(first) })
}
