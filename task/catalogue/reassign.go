package catalogue

import (
	"cmp"
	"fmt"
	"slices"
)

// Distances returns how far an item with the given prefix is from every code of the last level.
type Distances func(item int, prefix []uint32) []float64

// of returns the distances of an item, one for each of the codes.
func (d Distances) of(item int, prefix []uint32, codes int, key string) ([]float64, error) {
	list := d(item, prefix)
	if len(list) != codes {
		return nil, fmt.Errorf("item %q has %d distances to %d last codes", key, len(list), codes)
	}
	return list, nil
}

// nearest returns the codes in the order of their distance.
func nearest(distances []float64) []uint32 {
	order := make([]uint32, len(distances))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(distances[a], distances[b]) })
	return order
}

// appendMoved moves the last code of items whose codes are taken to the nearest free one, after all items with free codes
// have theirs.
func (t *Table) appendMoved(codes []uint32, claim func([]uint32) int, distances Distances) (moved int, err error) {
	first, last := t.appendOriginals(codes), t.levels-1
	var surplus []int
	for item := range len(codes) / t.levels {
		if claim(t.ID(first+item)) > 0 {
			surplus = append(surplus, item)
		}
	}
	for _, item := range surplus {
		own := t.ID(first + item)
		trial := slices.Clone(own)
		list, err := distances.of(item, own[:last:last], t.vocab[last], t.keys[first+item])
		if err != nil {
			return 0, err
		}
		for _, code := range nearest(list) {
			if trial[last] = code; claim(trial) == 0 {
				own[last] = code
				moved++
				break
			}
		}
	}
	return moved, nil
}

// appendOriginals appends codes as IDs, to be moved, and returns the first new row.
func (t *Table) appendOriginals(codes []uint32) (first int) {
	first = len(t.ids) / t.levels
	t.ids = append(t.ids, codes...)
	for item := range len(codes) / t.levels {
		t.original = append(t.original, codes[(item+1)*t.levels-1])
	}
	return first
}
