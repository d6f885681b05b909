package classical

import (
	"cmp"
	"slices"
)

// Top returns the k items of the largest scores, best first, without those of skip.
// Of equal scores those with more counts come first, then those of lower numbers.
// Items whose score is negative infinity are never returned.
func Top(scores, counts []float32, k int, skip []int32) []int32 {
	hidden := make(map[int32]bool, len(skip))
	for _, item := range skip {
		hidden[item] = true
	}
	better := func(a, b int32) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	}
	var best []int32 // ascending in better, with up to twice k items
	limit := float32(0)
	full := false
	for i, s := range scores {
		item := int32(i)
		if full && s < limit || !(s >= -lowest) || hidden[item] {
			continue
		}
		if best = append(best, item); len(best) == 2*k {
			slices.SortFunc(best, better)
			best = best[:k]
			full, limit = true, scores[best[k-1]]
		}
	}
	slices.SortFunc(best, better)
	return best[:min(k, len(best))]
}

const lowest = 3.4028234663852886e38 // the largest float32
