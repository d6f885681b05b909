package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/task/catalogue"
)

// idsShown is what ids show --json prints.
type idsShown struct {
	Prefix []uint32    `json:"prefix"`
	Items  int         `json:"items"`
	Words  []string    `json:"typical_words"`
	Next   []nextCode  `json:"next"` // codes that follow the prefix
	List   []shownItem `json:"list"`
}

type nextCode struct {
	Code  uint32   `json:"code"`
	Items int      `json:"items"`
	Words []string `json:"typical_words"`
}

type shownItem struct {
	Item  string   `json:"item"`
	Codes []uint32 `json:"codes"`
	Title string   `json:"title,omitempty"`
}

func runIDsShow(ctx context.Context, s *cli.Streams, o idsShowOptions) error {
	if o.limit < 1 {
		return usage.Errorf("-k %d: list at least 1 item", o.limit)
	}
	table, err := catalogue.Load(o.dir)
	if err != nil {
		return err
	}
	prefix, err := o.prefix(table)
	if err != nil {
		return err
	}
	known, err := interactions.ReadItems(ctx, filepath.Join(o.dir, idsItems))
	if err != nil {
		return err
	}
	if known.Len() < table.Len() {
		return fmt.Errorf("%s has %s, the table %d; restore it", filepath.Join(o.dir, idsItems), report.Counted(known.Len(), "item"), table.Len())
	}
	rows := slices.Collect(table.Under(prefix))
	if len(rows) == 0 {
		return fmt.Errorf("no item of %s has an ID that begins with %s", o.dir, codesText(prefix))
	}
	words := catalogue.NewWords(known.Texts())
	if o.json {
		shown := idsShown{Prefix: prefix, Items: len(rows), Words: words.Typical(rows, shownWords), Next: []nextCode{}}
		for _, b := range table.Branches(prefix) {
			below := slices.Collect(table.Under(append(slices.Clone(prefix), b.Code)))
			shown.Next = append(shown.Next, nextCode{b.Code, b.Items, words.Typical(below, shownWords)})
		}
		for _, row := range rows[:min(o.limit, len(rows))] {
			shown.List = append(shown.List, shownItem{table.Key(row), table.ID(row), known.Items[row].Title})
		}
		return s.WriteJSON(shown)
	}
	return o.print(s, table, known, words, prefix, rows)
}

// prefix is what the codes on the command line say, or what an item's ID shares
// with at least one other.
func (o idsShowOptions) prefix(t *catalogue.Table) ([]uint32, error) {
	if o.item != "" {
		if len(o.codes) > 0 {
			return nil, usage.Errorf("give codes or --item, not both")
		}
		row, known := t.Row(o.item)
		if !known {
			return nil, fmt.Errorf("item %q is not in %s; check its name", o.item, o.dir)
		}
		length := t.Width()
		for length > 0 && t.Count(t.ID(row)[:length]) < 2 {
			length--
		}
		return t.ID(row)[:length], nil
	}
	prefix := []uint32{}
	for _, word := range o.codes {
		for _, field := range strings.FieldsFunc(word, func(r rune) bool { return r == '-' || r == ',' }) {
			code, err := strconv.ParseUint(field, 10, 32)
			if err != nil {
				return nil, usage.Errorf("%q is no code; give numbers such as 37 120 or 37-120", field)
			}
			prefix = append(prefix, uint32(code))
		}
	}
	if len(prefix) > t.Width() {
		return nil, usage.Errorf("%s codes for IDs of %d; give fewer", codesText(prefix), t.Width())
	}
	return prefix, nil
}

// print writes the answer for people.
func (o idsShowOptions) print(s *cli.Streams, t *catalogue.Table, known *interactions.Catalogue, words *catalogue.Words, prefix []uint32, rows []int) error {
	if o.item != "" {
		row, _ := t.Row(o.item)
		fmt.Fprintf(s.Out, "%s  %s\n\n", codesText(t.ID(row)), titleOf(known.Items[row]))
	}
	below := "all IDs"
	if len(prefix) > 0 {
		below = "IDs that begin with " + codesText(prefix)
	}
	fmt.Fprintf(s.Out, "%s: %s", below, report.Counted(len(rows), "item"))
	if typical := words.Typical(rows, shownWords); len(typical) > 0 {
		fmt.Fprintf(s.Out, "; typical words: %s", strings.Join(typical, ", "))
	}
	fmt.Fprint(s.Out, "\n\n")
	if next := byItems(t.Branches(prefix)); len(next) > 1 && len(prefix) < t.Levels() {
		table := branchTable("", t, words, known.Items, prefix, next[:min(shownCodes, len(next))])
		table.Columns = table.Columns[:3] // titles follow
		for i := range table.Rows {
			table.Rows[i] = table.Rows[i][:3]
		}
		if err := table.Text(s.Out); err != nil {
			return err
		}
		if len(next) > shownCodes {
			fmt.Fprintf(s.Out, "and %d more codes\n", len(next)-shownCodes)
		}
		fmt.Fprintln(s.Out)
	}
	return itemsTable("", t, known.Items, rows, o.limit).Text(s.Out)
}
