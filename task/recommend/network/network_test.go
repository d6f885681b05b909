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
	if err := v.CheckLength(2); err == nil || !strings.Contains(err.Error(), "IDs of 2 codes, the model of 3") {
		t.Errorf("shorter IDs: %v", err)
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
