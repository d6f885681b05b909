package catalogue

import (
	"slices"

	"github.com/gritvq/gritvq/eval"
)

// Collisions say how many items share what should tell them apart.
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
	// Groups are the sizes of groups of items with equal codes from the
	// tokenizer, the smallest first.
	Groups []GroupSize `json:"groups"`
	// Positions tell how the values of each position of the IDs are used; the
	// last is the token, if there is one.
	Positions []eval.UsageStats `json:"positions"`
}

// Stats summarises the table.
func (t *Table) Stats() Stats {
	s := Stats{Items: t.Len(), Version: t.Version()}
	groups := t.groups(t.Codes)
	s.Before = collisions(groups)
	sizes := map[int]int{}
	for _, size := range groups {
		sizes[size]++
	}
	for size, count := range sizes {
		s.Groups = append(s.Groups, GroupSize{size, count})
	}
	slices.SortFunc(s.Groups, func(a, b GroupSize) int { return a.Size - b.Size })
	s.After = collisions(t.groups(t.ID))
	usage, err := eval.NewUsage(t.vocab)
	if err == nil {
		err = usage.Add(t.ids, t.Width())
	}
	if err != nil {
		panic("semid: a table holds a code outside its vocabulary: " + err.Error())
	}
	for position := range t.vocab {
		s.Positions = append(s.Positions, usage.Level(position))
	}
	return s
}

// Codes returns what the tokenizer gave a row, [Levels]. The caller must not
// modify it.
func (t *Table) Codes(row int) []uint32 {
	own := t.ID(row)[:t.levels:t.levels]
	if t.resolution == Reassign {
		own = slices.Clone(own)
		own[t.levels-1] = t.original[row]
	}
	return own
}

// groups returns the number of rows of every distinct sequence.
func (t *Table) groups(sequence func(row int) []uint32) []int {
	counts := map[string]int{}
	var packed []byte
	for row := range t.Len() {
		packed = pack(packed[:0], sequence(row))
		counts[string(packed)]++
	}
	sizes := make([]int, 0, len(counts))
	for _, n := range counts {
		sizes = append(sizes, n)
	}
	return sizes
}

func collisions(groups []int) Collisions {
	c := Collisions{Distinct: len(groups)}
	items, sharing := 0, 0
	for _, size := range groups {
		items += size
		c.Largest = max(c.Largest, size)
		if size > 1 {
			sharing += size
		}
	}
	c.Rate = 1 - float64(c.Distinct)/float64(items)
	c.Sharing = float64(sharing) / float64(items)
	return c
}
