package catalogue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/internal/usage"
)

// shownWords is the number of typical words of a code.
const shownWords = 4

// Listing describes the items whose IDs begin with a prefix.
type Listing struct {
	Prefix []uint32     `json:"prefix"`
	Items  int          `json:"items"`
	Words  []string     `json:"typical_words"`
	Next   []NextCode   `json:"next"` // codes that follow the prefix, ascending
	List   []ListedItem `json:"list"`
}

// NextCode describes the items below one continuation of a prefix.
type NextCode struct {
	Code  uint32   `json:"code"`
	Items int      `json:"items"`
	Words []string `json:"typical_words"`
}

// ListedItem is an item with its ID.
type ListedItem struct {
	Item  string   `json:"item"`
	Codes []uint32 `json:"codes"`
	Title string   `json:"title,omitempty"`
}

// Show lists up to limit items whose IDs begin with prefix, the words that are
// typical of them and the codes that come next. It fails if there is none.
func (c *Catalogue) Show(prefix []uint32, limit int) (*Listing, error) {
	if len(prefix) > c.Width() {
		return nil, usage.Errorf("%s codes for IDs of %d; give fewer", FormatCodes(prefix), c.Width())
	}
	rows := slices.Collect(c.Under(prefix))
	if len(rows) == 0 {
		return nil, fmt.Errorf("no item of %s has an ID that begins with %s", c.dir, FormatCodes(prefix))
	}
	words := NewWords(c.Items.Texts())
	l := &Listing{Prefix: prefix, Items: len(rows), Words: words.Typical(rows, shownWords), Next: []NextCode{}}
	for _, b := range c.Branches(prefix) {
		below := slices.Collect(c.Under(append(slices.Clone(prefix), b.Code)))
		l.Next = append(l.Next, NextCode{b.Code, b.Items, words.Typical(below, shownWords)})
	}
	for _, row := range rows[:min(limit, len(rows))] {
		l.List = append(l.List, ListedItem{c.Key(row), c.ID(row), c.Items.Items[row].Title})
	}
	return l, nil
}

// SharedPrefix returns the longest beginning of an item's ID that another item has
// too, or ok = false if the item is not in the table.
func (t *Table) SharedPrefix(key string) (prefix []uint32, ok bool) {
	row, ok := t.Row(key)
	if !ok {
		return nil, false
	}
	length := t.Width()
	for length > 0 && t.Count(t.ID(row)[:length]) < 2 {
		length--
	}
	return t.ID(row)[:length], true
}

// ParseCodes reads codes such as "37", "120" or "37-120".
func ParseCodes(words ...string) ([]uint32, error) {
	codes := []uint32{}
	for _, word := range words {
		for _, field := range strings.FieldsFunc(word, func(r rune) bool { return r == '-' || r == ',' }) {
			code, err := strconv.ParseUint(field, 10, 32)
			if err != nil {
				return nil, usage.Errorf("%q is no code; give numbers such as 37 120 or 37-120", field)
			}
			codes = append(codes, uint32(code))
		}
	}
	return codes, nil
}

// FormatCodes writes codes such as 37-120.
func FormatCodes(codes []uint32) string {
	text := make([]string, len(codes))
	for i, code := range codes {
		text[i] = strconv.Itoa(int(code))
	}
	return strings.Join(text, "-")
}
