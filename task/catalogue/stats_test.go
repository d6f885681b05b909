package catalogue

import (
	"slices"
	"strings"
	"testing"
)

func TestGroupsOfEqualCodes(t *testing.T) {
	codes := []uint32{1, 2, 0, 0, 1, 2, 1, 1, 1, 2, 0, 1, 1, 1}
	for _, method := range Resolutions {
		table, err := Build(codes, []int{2, 8}, strings.Fields("a b c d e f g"), BuildOptions{
			Resolve: method, Distances: nearby(8, func(item int) uint32 { return codes[2*item+1] }),
		})
		must(t, table, err)
		if got := table.groups(table.Codes); !slices.EqualFunc(got, [][]int{{0, 2, 4}, {3, 6}, {1}, {5}}, slices.Equal) {
			t.Errorf("%s: groups %v", method, got)
		}
	}
}

func TestTypicalWords(t *testing.T) {
	w := NewWords([]string{"Red nail polish", "Blue nail polish", "Nail file", "Herbal shampoo 250 ml", "Men's shampoo", "nothing like it"})
	if got := w.Typical([]int{0, 1, 2}, 2); !slices.Equal(got, []string{"nail", "polish"}) { // 1·log 2 and ⅔·log 2
		t.Errorf("nails: %v", got)
	}
	if got := w.Typical([]int{3, 4}, 5); !slices.Equal(got, []string{"shampoo"}) {
		t.Errorf("shampoo: %v", got)
	}
	if got := w.Typical([]int{5}, 5); len(got) != 0 {
		t.Errorf("one item has no type: %v", got)
	}
	if got := w.Typical([]int{0, 1, 2, 3, 4, 5}, 5); len(got) != 0 {
		t.Errorf("all items differ from all by %v", got)
	}
}
