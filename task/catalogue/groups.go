package catalogue

import "slices"

// Largest returns the rows of up to n groups of items to which the tokenizer
// gave equal codes, the largest group first and rows ascending. Items with codes
// of their own are in none.
func (t *Table) Largest(n int) [][]int {
	members := map[string][]int{} // by packed codes
	var packed []byte
	for row := range t.Len() {
		packed = pack(packed[:0], t.Codes(row))
		members[string(packed)] = append(members[string(packed)], row)
	}
	var groups [][]int
	for _, rows := range members {
		if len(rows) > 1 {
			groups = append(groups, rows)
		}
	}
	slices.SortFunc(groups, func(a, b []int) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return a[0] - b[0]
	})
	return groups[:min(n, len(groups))]
}

// Branch is one continuation of a prefix.
type Branch struct {
	Code  uint32
	Items int // below it
}

// Branches returns the codes that follow prefix in IDs in use, ascending. It is
// empty for a whole ID and for a prefix that no ID has.
func (t *Table) Branches(prefix []uint32) []Branch {
	if len(prefix) >= t.Width() {
		return nil
	}
	var list []Branch
	for row := range t.Under(prefix) {
		code := t.ID(row)[len(prefix)]
		if len(list) == 0 || list[len(list)-1].Code != code {
			list = append(list, Branch{Code: code})
		}
		list[len(list)-1].Items++
	}
	return list
}
