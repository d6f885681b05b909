package picture

import (
	"math"
	"slices"
	"testing"
)

// Windows begin and end with the cells and overlap by a quarter at least, up to
// rounding.
func TestWindowsCoverTheCells(t *testing.T) {
	for window := 1; window <= 17; window++ {
		for cells := 1; cells <= 4*window+3; cells++ {
			a := newAxis(cells, window)
			if a.cells != cells || a.padded != max(cells, window) || a.starts[0] != 0 || a.starts[len(a.starts)-1]+window != a.padded {
				t.Fatalf("%d cells, window %d: %+v", cells, window, a)
			}
			for i := range len(a.starts) - 1 {
				overlap := a.starts[i] + window - a.starts[i+1]
				if window > 1 && 4*overlap < window-3 || overlap >= window || window > 1 && overlap < 1 {
					t.Fatalf("%d cells, window %d: windows at %v overlap by %d", cells, window, a.starts, overlap)
				}
			}
		}
	}
}

// A quarter of overlap takes about 4/3 of the windows that none would.
func TestWindowsAreFew(t *testing.T) {
	for cells, want := range map[int]int{1: 1, 16: 1, 17: 2, 28: 2, 29: 3, 96: 8, 64: 5} {
		if a := newAxis(cells, 16); len(a.starts) != want {
			t.Errorf("%d cells take %d windows of 16, want %d", cells, len(a.starts), want)
		}
	}
}

// The shares of a pixel add up to 1 and change from pixel to pixel by no more
// than the steepest of the ramps.
func TestFeather(t *testing.T) {
	for _, size := range [][2]int{{1, 4}, {4, 4}, {5, 4}, {9, 4}, {13, 8}, {21, 8}, {3, 1}, {7, 2}} {
		a := newAxis(size[0], size[1])
		const scale = 4
		sums := make([]float64, a.padded*scale)
		for i, shares := range a.feather(scale) {
			for x, share := range shares {
				sums[a.starts[i]*scale+x] += float64(share)
				if x > 0 && a.window > 1 && math.Abs(float64(share-shares[x-1])) > 1.01/scale {
					t.Errorf("%v: window %d changes from %g to %g at pixel %d", size, i, shares[x-1], share, x)
				}
			}
		}
		for x, sum := range sums {
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("%v: the shares of pixel %d add up to %g", size, x, sum)
			}
		}
	}
	// Two windows of 8 pixels that share 4: eighths, by hand.
	shares := axis{cells: 12, padded: 12, window: 8, starts: []int{0, 4}}.feather(1)
	if want := []float32{1, 1, 1, 1, 0.875, 0.625, 0.375, 0.125}; !slices.Equal(shares[0], want) {
		t.Errorf("first window %v, want %v", shares[0], want)
	}
	if want := []float32{0.125, 0.375, 0.625, 0.875, 1, 1, 1, 1}; !slices.Equal(shares[1], want) {
		t.Errorf("second window %v, want %v", shares[1], want)
	}
}
