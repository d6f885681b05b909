package report

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

const (
	linePoints    = 600  // most points drawn of one series
	scatterPoints = 3000 // most points drawn of one scatter layer
)

// thinLine picks at most limit points of a line to draw, as indices in order; -1
// marks a gap. ok tells which points can be drawn; position(i) is where point i
// lies along the axis, in [0,1]. Long lines are cut into slots along the axis and
// keep the lowest and the highest point of each, so no spike is lost.
func thinLine(n, limit int, ok func(i int) bool, value, position func(i int) float64) []int {
	var shown, picked []int
	for i := range n {
		if ok(i) {
			shown = append(shown, i)
		}
	}
	if len(shown) <= limit {
		for k, i := range shown {
			if k > 0 && i > shown[k-1]+1 {
				picked = append(picked, -1)
			}
			picked = append(picked, i)
		}
		return picked
	}
	slots := limit/2 - 1 // two points each, and the two ends
	slotOf := func(i int) int { return i * slots / n }
	if slices.IsSortedFunc(shown, func(a, b int) int { return cmp.Compare(position(a), position(b)) }) {
		slotOf = func(i int) int { return min(slots-1, int(position(i)*float64(slots))) }
	}
	add := func(i int) {
		if len(picked) == 0 || picked[len(picked)-1] != i {
			picked = append(picked, i)
		}
	}
	end := shown[0]
	add(end)
	slot, low, high := slotOf(end), end, end
	for _, i := range shown {
		if at := slotOf(i); at != slot {
			add(min(low, high))
			add(max(low, high))
			// A slot's worth of points in a row that cannot be drawn is a gap.
			if i-end > n/slots+1 {
				picked = append(picked, -1)
			}
			slot, low, high = at, i, i
		}
		if value(i) < value(low) {
			low = i
		}
		if value(i) > value(high) {
			high = i
		}
		end = i
	}
	add(min(low, high))
	add(max(low, high))
	add(end)
	return picked
}

// thinPoints picks at most limit of the indices, in order: the outermost points in
// each direction, and others at random with a fixed seed.
func thinPoints(indices []int, limit int, x, y []float64) []int {
	if len(indices) <= limit {
		return indices
	}
	keep := map[int]bool{}
	for _, values := range [][]float64{x, y} {
		byValue := func(a, b int) int { return cmp.Compare(values[a], values[b]) }
		keep[slices.MinFunc(indices, byValue)] = true
		keep[slices.MaxFunc(indices, byValue)] = true
	}
	for _, at := range rand.New(rand.NewPCG(1, 2)).Perm(len(indices)) {
		if len(keep) == limit {
			break
		}
		keep[indices[at]] = true
	}
	return slices.DeleteFunc(slices.Clone(indices), func(i int) bool { return !keep[i] })
}
