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
	drawable := 0
	for i := range n {
		if ok(i) {
			drawable++
		}
	}
	if drawable <= limit {
		return keepAll(n, ok)
	}
	slots := limit/2 - 1 // two points each, and the two ends
	slotOf := func(i int) int { return i * slots / n }
	if ascending(n, ok, position) {
		slotOf = func(i int) int { return min(slots-1, int(position(i)*float64(slots))) }
	}
	var picked []int
	add := func(i int) {
		if len(picked) == 0 || picked[len(picked)-1] != i {
			picked = append(picked, i)
		}
	}
	slot, low, high, end := -1, 0, 0, -1
	missing := 0 // points that cannot be drawn since the last that can
	flush := func() {
		if slot >= 0 {
			add(min(low, high))
			add(max(low, high))
		}
	}
	for i := range n {
		if !ok(i) {
			missing++
			continue
		}
		if at := slotOf(i); at != slot {
			if slot < 0 {
				add(i)
			}
			flush()
			// A slot's worth of points in a row that cannot be drawn is a gap.
			if slot >= 0 && missing > n/slots {
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
		end, missing = i, 0
	}
	flush()
	add(end)
	return picked
}

func keepAll(n int, ok func(i int) bool) []int {
	var picked []int
	for i := range n {
		switch {
		case ok(i):
			picked = append(picked, i)
		case len(picked) > 0 && picked[len(picked)-1] >= 0:
			picked = append(picked, -1)
		}
	}
	if len(picked) > 0 && picked[len(picked)-1] < 0 {
		picked = picked[:len(picked)-1]
	}
	return picked
}

func ascending(n int, ok func(i int) bool, position func(i int) float64) bool {
	last := 0.0
	for i := range n {
		if !ok(i) {
			continue
		}
		at := position(i)
		if at < last {
			return false
		}
		last = at
	}
	return true
}

// thinPoints picks at most limit of the indices, in order: the
// outermost points in each direction, and others at random with a fixed seed.
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
