package catalogue

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gritvq/gritvq/eval"
)

// Collisions counts items that share their codes or IDs.
type Collisions struct {
	Distinct int     `json:"distinct"` // sequences in use
	Rate     float64 `json:"rate"`     // 1 - Distinct / items
	Sharing  float64 `json:"sharing"`  // part of the items that share theirs
	Largest  int     `json:"largest"`  // items of one sequence
}

// GroupSize counts the sequences that a number of items share.
type GroupSize struct {
	Size   int `json:"size"`
	Groups int `json:"groups"`
}

// Stats describes a table.
type Stats struct {
	Items   int `json:"items"`
	Version int `json:"version"`
	// Before counts collisions of the tokenizer's codes, After those of the IDs.
	Before Collisions `json:"before"`
	After  Collisions `json:"after"`
	// Groups are the sizes of groups of items with equal codes, the smallest first.
	Groups []GroupSize `json:"groups"`
	// Positions tell how the values of each position of the IDs are used; the last is the token, if there is one.
	Positions []eval.UsageStats `json:"positions"`
}

// Stats summarises the table.
func (t *Table) Stats() Stats {
	s := Stats{Items: t.Len(), Version: t.Version()}
	groups := t.groups(t.Codes)
	s.Before, s.After = collisions(groups), collisions(t.groups(t.ID))
	for _, rows := range slices.Backward(groups) {
		if n := len(s.Groups); n == 0 || s.Groups[n-1].Size != len(rows) {
			s.Groups = append(s.Groups, GroupSize{Size: len(rows)})
		}
		s.Groups[len(s.Groups)-1].Groups++
	}
	usage, err := eval.NewUsage(t.vocab)
	if err == nil {
		err = usage.Add(t.ids, t.Width())
	}
	if err != nil {
		panic("catalogue: a table holds a code outside its vocabulary: " + err.Error())
	}
	for position := range t.vocab {
		s.Positions = append(s.Positions, usage.Level(position))
	}
	return s
}

// Codes returns the tokenizer's codes of a row, [Levels]. The caller must not modify them.
func (t *Table) Codes(row int) []uint32 {
	own := t.ID(row)[:t.levels:t.levels]
	if t.resolution == Reassign {
		own = slices.Clone(own)
		own[t.levels-1] = t.original[row]
	}
	return own
}

// groups returns the rows of every distinct sequence, ascending, the largest group first.
func (t *Table) groups(sequence func(row int) []uint32) [][]int {
	members := map[string][]int{} // by packed codes
	var packed []byte
	for row := range t.Len() {
		packed = pack(packed[:0], sequence(row))
		members[string(packed)] = append(members[string(packed)], row)
	}
	return slices.SortedFunc(maps.Values(members), func(a, b []int) int {
		return cmp.Or(len(b)-len(a), a[0]-b[0])
	})
}

func collisions(groups [][]int) Collisions {
	c := Collisions{Distinct: len(groups), Largest: len(groups[0])}
	items, sharing := 0, 0
	for _, rows := range groups {
		items += len(rows)
		if len(rows) > 1 {
			sharing += len(rows)
		}
	}
	c.Rate = 1 - float64(c.Distinct)/float64(items)
	c.Sharing = float64(sharing) / float64(items)
	return c
}
