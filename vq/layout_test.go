package vq

import (
	"reflect"
	"slices"
	"testing"
)

func TestLayoutPaths(t *testing.T) {
	for name, c := range map[string]struct {
		layout Layout
		paths  []string
		books  [][]int
	}{
		"levels": {Layout{Parts: 1, Levels: 3}, []string{"level0", "level1", "level2"}, [][]int{{0}, {1}, {2}}},
		"parts": {Layout{Parts: 2, Levels: 2}, []string{"part0/level0", "part0/level1", "part1/level0", "part1/level1"},
			[][]int{{0}, {1}, {2}, {3}}},
		"shared": {Layout{Parts: 2, Levels: 2, Shared: true}, []string{"part0/level0", "part0/level0", "part1/level0", "part1/level0"},
			[][]int{{0, 1}, {2, 3}}},
	} {
		var paths []string
		for position := range c.layout.Positions() {
			paths = append(paths, c.layout.Path(position))
		}
		if !slices.Equal(paths, c.paths) || !reflect.DeepEqual(c.layout.Books(), c.books) {
			t.Errorf("%s: paths %v, books %v", name, paths, c.layout.Books())
		}
	}
}

// Variables that only training needs are recognised below any prefix.
func TestTrainingOnly(t *testing.T) {
	c := small(t, "grit", 1)
	c.Learn, c.Loss.Commitment = "ema", 0.25
	c.Cache = Cache{Period: 4, Gradient: "accumulate"}
	f := newFixture(t, c, 3, 4)
	var kept, dropped []string
	for _, p := range f.set.Paths() {
		if TrainingOnly(Prefix + "/" + p) {
			dropped = append(dropped, p)
		} else {
			kept = append(kept, p)
		}
	}
	want := []string{"level0/state/cache", "level0/state/cache_gradient", "level0/state/counts", "level0/state/sums"}
	if !slices.Equal(dropped, want) || !slices.Contains(kept, "level0/codes") || !slices.Contains(kept, "level0/state/source") {
		t.Errorf("dropped %v, kept %v", dropped, kept)
	}
}
