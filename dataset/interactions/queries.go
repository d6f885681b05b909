package interactions

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/dataset"
)

// Part is the purpose of a query: training, validation or testing.
type Part string

// The parts of a set of queries. A query is in exactly one, with all of its
// answers.
const (
	TrainPart      Part = "train"
	ValidationPart Part = "validation"
	TestPart       Part = "test"
)

// Query is a search and the products that answer it.
type Query struct {
	ID      string
	Text    string
	Answers []int32 // rows of the catalogue, ascending, at least one
	Part    Part
}

// Queries is a set of searches over one catalogue.
type Queries struct {
	Catalogue *Catalogue
	List      []Query
	// Unanswered counts queries that were left out because no product of the
	// catalogue answers them.
	Unanswered int
}

// QueryOptions say how files of queries are read.
type QueryOptions struct {
	// Query and Item choose the columns of a table by name or, from 1, by
	// number; empty ones go by the usual names.
	Query, Item string
	ESCI        ESCIOptions // of files of the Shopping Queries Dataset
}

// ReadQueries reads searches and their answers from files: those of the Shopping
// Queries Dataset (see ReadESCI), or tables (.csv, .tsv, .psv, .parquet) with a
// row an answer: the text of a search and the name of an item. A search with
// several answers has several rows; a row without an item is a search without
// an answer, which is left out and counted. A column split or part may say which
// searches are for train, validation and test; otherwise a hash of the text
// does. The catalogue of the queries has the names of the answers.
func ReadQueries(ctx context.Context, paths []string, opt QueryOptions) (*Queries, error) {
	for _, path := range paths {
		t, err := openTable(path, esciFormats)
		if err != nil {
			return nil, err
		}
		t.close()
		if slices.Contains(t.first, labelColumn) {
			if opt.Query+opt.Item != "" {
				return nil, fmt.Errorf("%s is of the Shopping Queries Dataset, whose columns are known; leave the choice out", path)
			}
			return ReadESCI(ctx, paths, opt.ESCI)
		}
	}
	var searches, products names
	q := &Queries{}
	for _, path := range paths {
		if err := q.read(ctx, path, opt, &searches, &products); err != nil {
			return nil, err
		}
	}
	items := make([]Item, len(products.list))
	for i, name := range products.list {
		items[i].ID = name
	}
	all := q.List
	q.List = nil
	for _, query := range all {
		if query.Answers = distinct(query.Answers); len(query.Answers) > 0 {
			q.List = append(q.List, query)
		}
	}
	if q.Unanswered = len(all) - len(q.List); len(q.List) == 0 {
		return nil, fmt.Errorf("no search of %s has an answer; give a row for every search and item that answers it", strings.Join(paths, ", "))
	}
	var err error
	q.Catalogue, err = NewCatalogue(items)
	return q, err
}

// read adds the rows of a table.
func (q *Queries) read(ctx context.Context, path string, opt QueryOptions, searches, products *names) error {
	t, err := openTable(path, esciFormats)
	if err != nil {
		return err
	}
	defer t.close()
	wanted := []column{{what: "search", usual: queryNames, choice: opt.Query}, {what: "item", usual: itemNames, choice: opt.Item},
		{what: "part", usual: partNames, optional: true}}
	header := t.named || isHeader(t.first, wanted)
	at, err := places(path, t.first, wanted, ErrColumns)
	if err != nil {
		return err
	}
	return t.rows(ctx, at, header, func(n int, fields []string) error {
		text, part := fields[0], Part(fields[2])
		switch {
		case text == "":
			return fmt.Errorf("%s %d of %s has no search; fill or drop it", t.unit, n, path)
		case part == "":
			part = partOf(opt.ESCI.Seed, text)
		case part != TrainPart && part != ValidationPart && part != TestPart:
			return fmt.Errorf("%s %d of %s is for %q; expected %s, %s or %s", t.unit, n, path, part, TrainPart, ValidationPart, TestPart)
		}
		number := int(searches.number(text))
		if number == len(q.List) {
			q.List = append(q.List, Query{ID: fmt.Sprint(number + 1), Text: searches.list[number], Part: Part(strings.Clone(string(part)))})
		}
		if fields[1] != "" {
			q.List[number].Answers = append(q.List[number].Answers, products.number(fields[1]))
		}
		return nil
	})
}

// heldTenths of queries are for validation, and as many for testing.
const heldTenths = 1

// partOf assigns a query to a part: 8 of 10 to training, by a hash of its text.
func partOf(seed uint64, text string) Part {
	switch tenth := textHash(seed, text) % 10; {
	case tenth < heldTenths:
		return TestPart
	case tenth < 2*heldTenths:
		return ValidationPart
	}
	return TrainPart
}

// textHash is the same on every machine.
func textHash(seed uint64, text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return dataset.Mix64(h.Sum64() ^ seed*0x9e3779b97f4a7c15)
}

// distinct sorts answers and drops repetitions.
func distinct(answers []int32) []int32 {
	slices.Sort(answers)
	return slices.Compact(answers)
}
