// Package catalogue gives the items of a catalogue semantic IDs: short sequences of codes from a tokenizer.
//
// Make trains a tokenizer on embeddings or titles, or uses a given one, and writes a directory per catalogue:
// the table of IDs, the items with their titles, the tokenizer and a report. Add gives new items IDs without
// touching those in use, Open reads a directory, and Show lists the items below a prefix.
//
// A tokenizer may give two items the same codes. Build makes a Table from codes and names and resolves such
// collisions in one of three ways: a token at the end numbers the items with equal codes, as TIGER does; the last
// code of all but one of them moves to the nearest free one; or all of them are spread over the free last codes.
// A Table is stored as a directory, and incomplete directories are refused. A Union is a directory of several.
//
// TextEncoder embeds titles without a network. Numbering makes IDs without
// meaning, as a baseline. Words finds the words typical of items that share a code.
package catalogue

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/internal/fingerprint"
)

// Resolution is a way to distinguish items with equal codes.
type Resolution string

const (
	// Token appends a number to the codes: 0, 1, 2 and so on among the items
	// that share them, in order of arrival. Every ID is unique.
	Token Resolution = "token"
	// Reassign moves the last code of all but the first of them to the nearest free one. IDs have the
	// length of the codes; if a prefix has more items than codes, some IDs stay shared.
	Reassign Resolution = "reassign"
	// Sinkhorn spreads all of them over the free last codes at the least total distance, by optimal transport.
	Sinkhorn Resolution = "sinkhorn"
	// Unique is the resolution of dense IDs, which never collide. Their vocabulary grows with the items.
	Unique Resolution = "unique"
)

// Resolutions lists those of codes that may collide.
var Resolutions = []Resolution{Token, Reassign, Sinkhorn}

// Table holds the IDs of a catalogue. Rows are items in order of arrival. Any
// number of goroutines may read it while none adds to it.
type Table struct {
	resolution Resolution
	provenance artifact.Head
	tokenizer  string
	levels     int      // codes that the tokenizer gives an item
	vocab      []int    // of every position of an ID
	keys       []string // of rows
	ids        []uint32 // [rows, width]
	original   []uint32 // [rows] last codes before they moved; none with Token and Unique
	versions   []Version
	taken      *Cooccurrence // nil if the vectors are the content alone

	rows  map[string]int32
	order []int32 // rows by ID, then by number
}

// Version is one entry of a table's log, written by Build or Add.
type Version struct {
	Number int `json:"number"` // from 1
	Added  int `json:"added"`
	Items  int `json:"items"` // with those added
	// LastVocab is the vocabulary of the last position. A model trained on an older version cannot name IDs beyond it.
	LastVocab int `json:"last_vocab"`
	Moved     int `json:"moved,omitempty"` // added items that were given another last code
}

// Len is the number of items.
func (t *Table) Len() int { return len(t.keys) }

// Width is the number of positions of an ID.
func (t *Table) Width() int { return len(t.vocab) }

// Levels is the number of codes that come from the tokenizer: the width, without the token.
func (t *Table) Levels() int { return t.levels }

// Vocab returns the number of values of each position, as a copy.
func (t *Table) Vocab() []int { return slices.Clone(t.vocab) }

// LastVocab is the number of values of the last position.
func (t *Table) LastVocab() int { return t.vocab[t.Width()-1] }

// Version is the number of the last change, from 1.
func (t *Table) Version() int { return len(t.versions) }

// Fitting returns the items of t, a later version of an older table, whose IDs a model of that version can name:
// all but those with a token beyond its vocabulary. It fails if t is no such version.
func (t *Table) Fitting(older *Table) (*Table, error) {
	if t.tokenizer != older.tokenizer || t.resolution != older.resolution || t.levels != older.levels {
		return nil, errors.New("its IDs come from another tokenizer")
	}
	n := older.Len()
	if t.Len() < n || !slices.Equal(t.keys[:n], older.keys) || !slices.Equal(t.ids[:len(older.ids)], older.ids) {
		return nil, errors.New("it is no later version of the table: items are missing or have other IDs")
	}
	part := &Table{resolution: t.resolution, tokenizer: t.tokenizer, levels: t.levels, vocab: older.vocab, versions: t.versions}
	for row, key := range t.keys {
		id := t.ID(row)
		if uint64(id[len(id)-1]) >= uint64(older.LastVocab()) { // only the last vocabulary grows
			continue
		}
		part.keys, part.ids = append(part.keys, key), append(part.ids, id...)
		if t.original != nil {
			part.original = append(part.original, t.original[row])
		}
	}
	return part, part.index()
}

// Fingerprint identifies the items and their IDs.
func (t *Table) Fingerprint() string {
	h := fingerprint.New()
	for row, key := range t.keys {
		h.Text(key)
		for _, code := range t.ID(row) {
			h.Number(uint64(code))
		}
	}
	return h.String()
}

// Dense says that every item has one code of its own.
func (t *Table) Dense() bool { return t.resolution == Unique }

// moves says that items may have other last codes than the tokenizer gave them.
func (t *Table) moves() bool { return t.resolution == Reassign || t.resolution == Sinkhorn }

// Key returns the item of a row.
func (t *Table) Key(row int) string { return t.keys[row] }

// IDs returns all IDs, [Len, Width]. The caller must not modify them.
func (t *Table) IDs() []uint32 { return t.ids[:len(t.ids):len(t.ids)] }

// ID returns the ID of a row, [Width]. The caller must not modify it.
func (t *Table) ID(row int) []uint32 {
	w := t.Width()
	return t.ids[row*w : (row+1)*w : (row+1)*w]
}

// Row finds an item.
func (t *Table) Row(key string) (int, bool) {
	row, known := t.rows[key]
	return int(row), known
}

// Count returns the number of items whose IDs begin with prefix.
func (t *Table) Count(prefix []uint32) int {
	from, to := t.span(prefix)
	return to - from
}

// Under walks through the rows whose IDs begin with prefix, in the order of their IDs.
func (t *Table) Under(prefix []uint32) iter.Seq[int] {
	return func(yield func(int) bool) {
		from, to := t.span(prefix)
		for _, row := range t.order[from:to] {
			if !yield(int(row)) {
				return
			}
		}
	}
}

func (t *Table) span(prefix []uint32) (from, to int) {
	if len(prefix) > t.Width() {
		return 0, 0
	}
	compare := func(place int) int { return slices.Compare(t.ID(int(t.order[place]))[:len(prefix)], prefix) }
	from = sort.Search(len(t.order), func(i int) bool { return compare(i) >= 0 })
	to = from + sort.Search(len(t.order)-from, func(i int) bool { return compare(from+i) > 0 })
	return from, to
}

// index refuses keys that are empty, repeated or not UTF-8.
func (t *Table) index() error {
	t.rows = make(map[string]int32, len(t.keys))
	t.order = make([]int32, len(t.keys))
	for row, key := range t.keys {
		if first, twice := t.rows[key]; twice {
			return fmt.Errorf("items %d and %d are both called %q", first, row, key)
		}
		if key == "" || !utf8.ValidString(key) {
			return fmt.Errorf("item %d has the name %q; names are text in UTF-8 of at least one character", row, key)
		}
		t.rows[key] = int32(row)
		t.order[row] = int32(row)
	}
	slices.SortFunc(t.order, func(a, b int32) int {
		if c := slices.Compare(t.ID(int(a)), t.ID(int(b))); c != 0 {
			return c
		}
		return int(a) - int(b)
	})
	return nil
}
