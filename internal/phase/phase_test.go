package phase

import (
	"reflect"
	"testing"
)

func TestCells(t *testing.T) {
	for phases, want := range map[int][][]int{
		0: {{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		2: {{0, 2, 4, 6, 8}, {1, 3, 5, 7}},
		4: {{0, 2, 6, 8}, {4}, {1, 7}, {3, 5}},
	} {
		if got := Cells(phases, 3, 3); !reflect.DeepEqual(got, want) {
			t.Errorf("%d phases of a 3 x 3 grid are %v, want %v", phases, got, want)
		}
	}
	if got := Cells(2, 1, 3); !reflect.DeepEqual(got, [][]int{{0, 2}, {1}}) {
		t.Errorf("a row of 3 cells has phases %v", got)
	}
}

// Every cell of a later phase touches an earlier one.
func TestNeighboursAreEarlier(t *testing.T) {
	for _, phases := range []int{2, 4} {
		for y := 1; y < 4; y++ {
			for x := 1; x < 4; x++ {
				own, earlier := Of(phases, y, x), 0
				for _, step := range [][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {1, 1}, {-1, 1}, {1, -1}} {
					if Of(phases, y+step[0], x+step[1]) < own {
						earlier++
					}
				}
				if own > 0 && earlier < 4 {
					t.Errorf("cell (%d,%d) of phase %d of %d has %d earlier neighbours", y, x, own, phases, earlier)
				}
			}
		}
	}
}
