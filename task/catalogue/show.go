package catalogue

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
)

const (
	shownWords   = 4  // typical of a code
	shownTitles  = 3  // of a code
	longestTitle = 72 // characters of a title among others
)

// Listing describes the items whose IDs begin with a prefix.
type Listing struct {
	Prefix []uint32     `json:"prefix"`
	Items  int          `json:"items"`
	Words  []string     `json:"typical_words"`
	Next   []Branch     `json:"next"` // codes that follow the prefix, ascending
	List   []ListedItem `json:"list"`
}

// Branch describes the items below one code that follows a prefix.
type Branch struct {
	Code   uint32   `json:"code"`
	Items  int      `json:"items"`
	Words  []string `json:"typical_words"`
	titles string   // of a few items
}

// ListedItem is an item with its ID.
type ListedItem struct {
	Item  string   `json:"item"`
	Codes []uint32 `json:"codes"`
	Title string   `json:"title,omitempty"`
}

// Show lists up to limit items whose IDs begin with prefix, their typical words and the codes that come next.
// It fails if there is none.
func (c *Catalogue) Show(prefix []uint32, limit int) (*Listing, error) {
	if len(prefix) > c.Width() {
		return nil, usage.Errorf("%s codes for IDs of %d; give fewer", FormatCodes(prefix), c.Width())
	}
	rows := slices.Collect(c.Under(prefix))
	if len(rows) == 0 {
		return nil, fmt.Errorf("no item of %s has an ID that begins with %s", c.dir, FormatCodes(prefix))
	}
	c.split.Do(func() { c.words = NewWords(c.Items.Texts()) })
	l := &Listing{Prefix: prefix, Items: len(rows), Words: c.words.Typical(rows, shownWords), Next: []Branch{}}
	for below := rows; len(prefix) < c.Width() && len(below) > 0; {
		code := c.ID(below[0])[len(prefix)]
		n := c.Count(append(slices.Clone(prefix), code))
		l.Next = append(l.Next, Branch{code, n, c.words.Typical(below[:n], shownWords), c.titles(spread(below[:n], shownTitles), shownTitles)})
		below = below[n:]
	}
	for _, row := range rows[:min(limit, len(rows))] {
		l.List = append(l.List, ListedItem{c.Key(row), c.ID(row), c.Title(c.Key(row))})
	}
	return l, nil
}

// NextTable tabulates the codes that follow the prefix: all of them, or those with the most items up to a limit.
func (l *Listing) NextTable(limit int) report.Table {
	next := l.Next
	if limit > 0 {
		next = slices.SortedStableFunc(slices.Values(next), func(a, b Branch) int { return b.Items - a.Items })
		next = next[:min(limit, len(next))]
	}
	t := report.Table{Columns: append(report.Columns(report.Right, "code", "items"),
		report.Columns(report.Auto, "typical words", "for example")...)}
	for _, b := range next {
		path := append(slices.Clone(l.Prefix), b.Code)
		t.Rows = append(t.Rows, report.Cells(FormatCodes(path), report.Count(b.Items), strings.Join(b.Words, ", "), b.titles))
	}
	return t
}

// ItemTable tabulates the listed items.
func (l *Listing) ItemTable() report.Table {
	t := report.Table{Columns: []report.Column{{Name: "ID", Align: report.Left}, {Name: "item"}, {Name: "title"}}}
	if len(l.List) < l.Items {
		t.Caption = fmt.Sprintf("%d of %d.", len(l.List), l.Items)
	}
	for _, item := range l.List {
		t.Rows = append(t.Rows, report.Cells(FormatCodes(item.Codes), item.Item, cmp.Or(item.Title, "item "+item.Item)))
	}
	return t
}

func spread(rows []int, n int) []int {
	picked := make([]int, min(n, len(rows)))
	for i := range picked {
		picked[i] = rows[i*len(rows)/len(picked)]
	}
	return picked
}

func (c *Catalogue) titles(rows []int, limit int) string {
	var titles []string
	for _, row := range rows[:min(limit, len(rows))] {
		title := c.Label(row)
		if runes := []rune(title); len(runes) > longestTitle {
			title = strings.TrimRight(string(runes[:longestTitle-1]), " ,.-") + "…"
		}
		titles = append(titles, title)
	}
	if len(rows) > limit {
		titles = append(titles, fmt.Sprintf("and %d more", len(rows)-limit))
	}
	return strings.Join(titles, " · ")
}

// SharedPrefix returns the longest prefix of an item's ID that another item has too.
func (t *Table) SharedPrefix(key string) (prefix []uint32, ok bool) {
	row, ok := t.Row(key)
	if !ok {
		return nil, false
	}
	prefix = t.ID(row)
	for len(prefix) > 0 && t.Count(prefix) < 2 {
		prefix = prefix[:len(prefix)-1]
	}
	return prefix, true
}

// ParseCodes reads codes such as "37", "120" or "37-120".
func ParseCodes(words ...string) ([]uint32, error) {
	codes := []uint32{}
	for _, field := range strings.FieldsFunc(strings.Join(words, "-"), func(r rune) bool { return r == '-' || r == ',' }) {
		code, err := strconv.ParseUint(field, 10, 32)
		if err != nil {
			return nil, usage.Errorf("%q is no code; give numbers such as 37 120 or 37-120", field)
		}
		codes = append(codes, uint32(code))
	}
	return codes, nil
}

// FormatCodes writes codes such as 37-120.
func FormatCodes(codes []uint32) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(codes), "[]"), " ", "-")
}

// Words finds the words that are typical of some items.
type Words struct {
	texts [][]string     // distinct words of each text
	in    map[string]int // texts that hold a word
}

const shortestWord = 3

// NewWords splits the texts of items into words of letters.
func NewWords(texts []string) *Words {
	w := &Words{in: map[string]int{}}
	for _, text := range texts {
		list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
		list = slices.DeleteFunc(list, func(word string) bool { return utf8.RuneCountInString(word) < shortestWord })
		slices.Sort(list)
		list = slices.Compact(list)
		for _, word := range list {
			w.in[word]++
		}
		w.texts = append(w.texts, list)
	}
	return w
}

// Typical returns up to n words with the largest p·log(p/q), where p is the share of the rows that contain the word and
// q the share of all texts. Words of a single row, or no more frequent here than elsewhere, are not typical.
func (w *Words) Typical(rows []int, n int) []string {
	counts := map[string]int{}
	for _, row := range rows {
		for _, word := range w.texts[row] {
			counts[word]++
		}
	}
	type scored struct {
		word  string
		score float64
	}
	var list []scored
	for word, count := range counts {
		p, q := float64(count)/float64(len(rows)), float64(w.in[word])/float64(len(w.texts))
		if count > 1 && p > q {
			list = append(list, scored{word, p * math.Log(p/q)})
		}
	}
	slices.SortFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.word, b.word))
	})
	words := []string{}
	for _, s := range list[:min(n, len(list))] {
		words = append(words, s.word)
	}
	return words
}
