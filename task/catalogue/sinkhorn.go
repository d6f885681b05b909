package catalogue

import (
	"cmp"
	"math"
	"slices"
)

const (
	// sinkhornBlur is the entropy's weight, in units of the mean distance: small, so that a plan is nearly an assignment.
	sinkhornBlur   = 0.02
	sinkhornRounds = 200
	sinkhornWork   = 1 << 28 // steps at most, for prefixes of very many items
)

// appendSpread gives items whose codes collide new last codes together: of every prefix, all items with equal codes are
// spread over the codes that no other item has, by optimal transport with an entropy (Sinkhorn and Knopp 1967; Cuturi
// 2013). Unlike [Table.appendMoved] the order of the items does not matter, and the first of them may move too. Items that
// have no room keep their codes.
func (t *Table) appendSpread(codes []uint32, claim func([]uint32) int, distances Distances) (moved int, err error) {
	first, last := t.appendOriginals(codes), t.levels-1
	n := len(codes) / t.levels
	members := map[string][]int{} // items by their codes
	var packed []byte
	key := func(own []uint32) string {
		packed = pack(packed[:0], own)
		return string(packed)
	}
	for item := range n {
		own := key(t.ID(first + item))
		members[own] = append(members[own], item)
	}
	spread := map[string][]int{} // colliding items by their prefix, in order
	for item := range n {
		own := t.ID(first + item)
		if len(members[key(own)]) > 1 || t.Count(own) > 0 {
			prefix := key(own[:last])
			spread[prefix] = append(spread[prefix], item)
		} else {
			claim(own)
		}
	}
	for item := range n {
		prefix := key(t.ID(first + item)[:last])
		items := spread[prefix]
		if items == nil || items[0] != item {
			continue
		}
		own := slices.Clone(t.ID(first + item))
		var free []uint32
		for code := range t.vocab[last] {
			if own[last] = uint32(code); t.Count(own) == 0 && len(members[key(own)]) != 1 {
				free = append(free, uint32(code))
			}
		}
		cost := make([]float64, 0, len(items)*len(free))
		for _, i := range items {
			list, err := distances.of(i, own[:last:last], t.vocab[last], t.keys[first+i])
			if err != nil {
				return 0, err
			}
			for _, code := range free {
				cost = append(cost, list[code])
			}
		}
		for place, at := range assign(cost, len(items), len(free)) {
			id := t.ID(first + items[place])
			if at >= 0 && id[last] != free[at] {
				id[last] = free[at]
				moved++
			}
			claim(id)
		}
	}
	return moved, nil
}

// assign gives each of n items one of m places of its own at a small total cost [n, m], -1 to those that find none.
func assign(cost []float64, n, m int) []int {
	if len(cost) == 0 {
		return slices.Repeat([]int{-1}, n)
	}
	plan := transport(cost, n, m)
	order := make([]int, n*m)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(plan[b], plan[a]), cmp.Compare(cost[a], cost[b]))
	})
	place, used := slices.Repeat([]int{-1}, n), make([]bool, m)
	for _, pair := range order {
		if item, at := pair/m, pair%m; place[item] < 0 && !used[at] {
			place[item], used[at] = at, true
		}
	}
	return place
}

// transport returns the logarithms of a plan [n, m] that carries one unit from every item to places of room 1, by
// Sinkhorn's iterations in the logarithmic domain; of more items than places, every item carries less.
func transport(cost []float64, n, m int) []float64 {
	mean := 0.0
	for _, c := range cost {
		mean += c / float64(len(cost))
	}
	blur := sinkhornBlur * mean
	if blur == 0 {
		blur = 1
	}
	mass := min(0, math.Log(float64(m)/float64(n)))
	rows, columns := make([]float64, n), make([]float64, m) // potentials
	for range max(1, min(sinkhornRounds, sinkhornWork/len(cost))) {
		for i := range n {
			sum := math.Inf(-1)
			for j := range m {
				sum = addLogs(sum, columns[j]-cost[i*m+j]/blur)
			}
			rows[i] = mass - sum
		}
		for j := range m {
			sum := math.Inf(-1)
			for i := range n {
				sum = addLogs(sum, rows[i]-cost[i*m+j]/blur)
			}
			columns[j] = min(0, -sum) // a place may stay empty
		}
	}
	plan := make([]float64, n*m)
	for i := range plan {
		plan[i] = rows[i/m] + columns[i%m] - cost[i]/blur
	}
	return plan
}

// addLogs returns log(exp(a) + exp(b)).
func addLogs(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
