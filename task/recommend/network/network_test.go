package network

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestVocabulary(t *testing.T) {
	v, err := NewVocabulary([]int{4, 3, 5}, 10)
	if err != nil || v.Tokens != 22 || !slices.Equal(v.First, []int{10, 14, 17}) {
		t.Errorf("%+v, %v", v, err)
	}
	for _, codes := range [][]int{nil, {3, 0}, {1 << 30, 1 << 30, 1 << 30}} {
		if _, err := NewVocabulary(codes, 0); err == nil {
			t.Errorf("codes %v were accepted", codes)
		}
	}
}

func TestRooms(t *testing.T) {
	for longest, want := range map[int][]int{20: {5, 10, 20}, 6: {2, 3, 6}, 2: {1, 2}, 1: {1}} {
		if got := Rooms(longest); !slices.Equal(got, want) {
			t.Errorf("rooms of %d: %v, want %v", longest, got, want)
		}
	}
	for n, want := range map[int]int{0: 5, 5: 5, 6: 10, 20: 20, 99: 20} {
		if got := RoomFor(Rooms(20), n); got != want {
			t.Errorf("%d items get room for %d, want %d", n, got, want)
		}
	}
	if got, want := Group([]int{5, 9, 5, 5, 9, 5}, 2), [][]int{{0, 2}, {1, 4}, {3, 5}}; !reflect.DeepEqual(got, want) {
		t.Errorf("blocks %v, want %v", got, want)
	}
}

func TestItems(t *testing.T) {
	items, err := NewItems([]uint32{0, 0, 3, 2, 1, 1, 3, 2}, []int{4, 3})
	if err != nil {
		t.Fatal(err)
	}
	if items.Len() != 4 || !slices.Equal(items.ID(1), []uint32{3, 2}) || !items.Twins(1, 3) || items.Twins(0, 2) {
		t.Errorf("%+v", items)
	}
	if items.Check(3) != nil || items.Check(4) == nil || items.Check(-1) == nil {
		t.Error("the bounds of the catalogue are wrong")
	}
	for codes, want := range map[[2]int]string{{4, 3}: "", {9, 9}: "", {4, 2}: "position 1 of the items' IDs has 3 codes, the model knows 2"} {
		v, err := NewVocabulary(codes[:], 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Check(items); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a model of %v: %v", codes, err)
		}
	}
	for what, run := range map[string]func() (*Items, error){
		"no items":                  func() (*Items, error) { return NewItems(nil, []int{2}) },
		"no positions":              func() (*Items, error) { return NewItems([]uint32{1}, nil) },
		"half an item":              func() (*Items, error) { return NewItems([]uint32{1, 1, 1}, []int{2, 2}) },
		"a code beyond its numbers": func() (*Items, error) { return NewItems([]uint32{1, 2}, []int{2, 2}) },
	} {
		if _, err := run(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
