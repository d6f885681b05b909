package interactions

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// ESCIOptions choose from the Shopping Queries Dataset. The zero value takes
// the English queries and their exact matches.
type ESCIOptions struct {
	// Locale is us, es or jp; us when empty.
	Locale string
	// Answers are the labels that count as answers, such as "ES" for exact
	// matches and substitutes; "E" when empty.
	Answers string
	// Small keeps to the reduced version of the set, that of its ranking task.
	Small bool
	// AllProducts takes every product of the locale into the catalogue, not
	// only those that were judged.
	AllProducts bool
	// Seed draws the validation queries, and all parts if the files name none.
	Seed uint64
}

// ReadESCI reads Amazon's Shopping Queries Dataset from parquet files or tables
// with a header, in any number and order: files with an esci_label are judgements (query_id, query,
// product_id, product_locale, esci_label and, if there, small_version and
// split), the others products (product_id, product_locale, product_title,
// product_brand, product_color). Judgements that were joined with their
// products, with a product_title of their own, need no further file. Labels are
// E, S, C and I or the words behind them.
//
// The files mark the test queries; one training query in nine, chosen by a hash
// of its text, becomes validation. Queries without an answer are left out
// and counted. ctx stops the reading. Errors are one sentence that names the
// file and a remedy.
func ReadESCI(ctx context.Context, paths []string, opt ESCIOptions) (*Queries, error) {
	if opt.Locale == "" {
		opt.Locale = "us"
	}
	if opt.Answers == "" {
		opt.Answers = "E"
	}
	if strings.Trim(opt.Answers, "ESCI") != "" {
		return nil, fmt.Errorf("answers %q are impossible: they are letters of E, S, C and I", opt.Answers)
	}
	e := &esciReader{opt: opt, titles: map[int32]*Item{}}
	for _, judgements := range []bool{true, false} { // products are known by their judgements
		for _, path := range paths {
			if err := e.read(ctx, path, judgements); err != nil {
				return nil, err
			}
		}
	}
	return e.queries(paths)
}

// esciReader gathers queries and products over files.
type esciReader struct {
	opt       ESCIOptions
	list      []Query
	numbers   names // of queries, by id
	products  names
	titles    map[int32]*Item // of products whose text is known
	judgement bool            // a file of judgements was met
}

// The columns to read; the first count are required.
var (
	judgementColumns = []string{"query_id", "query", "product_id", "product_locale", "esci_label", "small_version", "split", "product_title",
		"product_brand", "product_color"}
	productColumns = []string{"product_id", "product_locale", "product_title", "product_brand", "product_color"}
)

// labelColumn tells judgements from other files.
const labelColumn = "esci_label"

// esciFormats completes the sentence "expected".
const esciFormats = ".parquet, .csv, .tsv or .psv"

const (
	neededJudgementColumns = 5
	neededProductColumns   = 3
)

// read reads a file if it is of the wanted kind.
func (e *esciReader) read(ctx context.Context, path string, judgements bool) error {
	t, err := openTable(path, esciFormats)
	if err != nil {
		return err
	}
	defer t.close()
	if slices.Contains(t.first, labelColumn) != judgements {
		return nil
	}
	wanted, needed, visit := productColumns, neededProductColumns, e.product
	if judgements {
		wanted, needed, visit = judgementColumns, neededJudgementColumns, e.judge
		e.judgement = true
	}
	at := make([]int, len(wanted))
	for i, name := range wanted {
		if at[i] = slices.Index(t.first, name); at[i] < 0 && i < needed {
			return fmt.Errorf("%s has no column %s, which the Shopping Queries Dataset has; its columns are %s",
				path, name, strings.Join(t.first, ", "))
		}
	}
	return t.rows(ctx, at, true, func(n int, fields []string) error {
		if err := visit(fields); err != nil {
			return fmt.Errorf("%s %d of %s has %w", t.unit, n, path, err)
		}
		return nil
	})
}

// judge takes one row of judgementColumns.
func (e *esciReader) judge(fields []string) error {
	if fields[3] != e.opt.Locale || e.opt.Small && fields[5] != "1" {
		return nil
	}
	if fields[0] == "" || fields[2] == "" {
		return fmt.Errorf("no query_id or product_id; fill or drop it")
	}
	label := strings.ToUpper(fields[4])
	if !slices.Contains([]string{"E", "S", "C", "I", "EXACT", "SUBSTITUTE", "COMPLEMENT", "IRRELEVANT"}, label) {
		return fmt.Errorf("the label %q; expected E, S, C or I", fields[4])
	}
	product := e.products.number(fields[2])
	if fields[7] != "" && e.titles[product] == nil {
		e.describe(product, fields[7], fields[8], fields[9])
	}
	query := e.numbers.number(fields[0])
	if int(query) == len(e.list) {
		e.list = append(e.list, Query{ID: strings.Clone(fields[0]), Text: strings.Clone(fields[1]), Part: e.part(fields[6], fields[1])})
	}
	if strings.Contains(e.opt.Answers, label[:1]) {
		e.list[query].Answers = append(e.list[query].Answers, product)
	}
	return nil
}

// part keeps the test queries of the set, and draws the validation queries.
func (e *esciReader) part(split, text string) Part {
	switch {
	case split == "":
		return partOf(e.opt.Seed, text)
	case split == string(TestPart):
		return TestPart
	case textHash(e.opt.Seed, text)%9 == 0:
		return ValidationPart
	}
	return TrainPart
}

// product takes one row of productColumns.
func (e *esciReader) product(fields []string) error {
	if fields[1] != e.opt.Locale || fields[0] == "" {
		return nil
	}
	number, known := e.products.index[fields[0]]
	if !known {
		if !e.opt.AllProducts {
			return nil
		}
		number = e.products.number(fields[0])
	}
	if e.titles[number] == nil {
		e.describe(number, fields[2], fields[3], fields[4])
	}
	return nil
}

func (e *esciReader) describe(product int32, title, brand, color string) {
	item := &Item{Title: strings.Clone(title)}
	item.describe(strings.Trim(brand+" "+color, " "))
	e.titles[product] = item
}

// queries assembles the result.
func (e *esciReader) queries(paths []string) (*Queries, error) {
	switch {
	case !e.judgement:
		return nil, fmt.Errorf("none of %s has an esci_label; add the file of examples", strings.Join(paths, ", "))
	case len(e.list) == 0:
		return nil, fmt.Errorf("no query of %s is of locale %q (small version: %t); choose another",
			strings.Join(paths, ", "), e.opt.Locale, e.opt.Small)
	case len(e.titles) == 0:
		return nil, fmt.Errorf("no product of %s has a title; add the file of products", strings.Join(paths, ", "))
	}
	items := make([]Item, len(e.products.list))
	for i, id := range e.products.list {
		if known := e.titles[int32(i)]; known != nil {
			items[i] = *known
		}
		items[i].ID = id
	}
	catalogue, err := NewCatalogue(items)
	if err != nil {
		return nil, err
	}
	q := &Queries{Catalogue: catalogue}
	for _, query := range e.list {
		if query.Answers = distinct(query.Answers); len(query.Answers) > 0 {
			q.List = append(q.List, query)
		} else {
			q.Unanswered++
		}
	}
	return q, nil
}
