package itemfactors

import (
	"cmp"
	"math"
	"slices"

	"github.com/gritvq/gritvq/internal/lowrank"
	"github.com/gritvq/gritvq/internal/parallel"
)

const (
	window    = 5    // places between two items of a pair; a pair d places apart counts 1/d
	smoothing = 0.75 // exponent of the counts of contexts
	shrink    = 1    // a pair that counts c has c/(c+shrink) of its weight
	widest    = 512  // neighbours kept of an item, the strongest: bounds memory to 4 KiB an item, and its transpose
)

// place is where an item occurs.
type place struct{ user, at int32 }

// pairs returns the weights of neighbours: row i holds the items that follow or precede item i.
func pairs(s *Sequences) *lowrank.Sparse {
	starts := make([]int, s.Items+1)
	for _, u := range s.Users {
		for _, item := range u.Train {
			starts[item+1]++
		}
	}
	for i := range s.Items {
		starts[i+1] += starts[i]
	}
	places, next := make([]place, starts[s.Items]), slices.Clone(starts)
	for number, u := range s.Users {
		for at, item := range u.Train {
			places[next[item]] = place{int32(number), int32(at)}
			next[item]++
		}
	}
	counts := make([]float64, s.Items) // of all pairs with an item
	for _, u := range s.Users {
		for at, item := range u.Train {
			u.neighbours(at, func(_ int32, weight float64) { counts[item] += weight })
		}
	}
	total, contexts := 0.0, make([]float64, s.Items)
	for i, n := range counts {
		contexts[i] = math.Pow(n, smoothing)
		total += contexts[i]
	}
	const block = 256
	rows := make([][]lowrank.Entry, s.Items)
	_ = parallel.Each((s.Items+block-1)/block, 0, func(number int) error {
		sums := make([]float64, s.Items)
		for item := number * block; item < min(s.Items, (number+1)*block); item++ {
			var met []int32
			for _, p := range places[starts[item]:starts[item+1]] {
				s.Users[p.user].neighbours(int(p.at), func(other int32, weight float64) {
					if sums[other] == 0 {
						met = append(met, other)
					}
					sums[other] += weight
				})
			}
			for _, other := range met {
				n := sums[other]
				sums[other] = 0
				information := math.Log(n * total / (contexts[item] * counts[other]))
				if weight := information * n / (n + shrink); weight > 0 {
					rows[item] = append(rows[item], lowrank.Entry{Column: other, Value: float32(weight)})
				}
			}
			rows[item] = strongest(rows[item])
		}
		return nil
	})
	return lowrank.NewSparse(s.Items, rows)
}

// neighbours visits the other items near a place, with the weights of the pairs.
func (u User) neighbours(at int, visit func(other int32, weight float64)) {
	for near := max(0, at-window); near < min(len(u.Train), at+window+1); near++ {
		if distance := max(near-at, at-near); u.Train[near] != u.Train[at] {
			visit(u.Train[near], 1/float64(distance))
		}
	}
}

// strongest keeps the widest entries with the largest values, by column.
func strongest(row []lowrank.Entry) []lowrank.Entry {
	if len(row) > widest {
		slices.SortFunc(row, func(a, b lowrank.Entry) int {
			return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Column, b.Column))
		})
		row = slices.Clone(row[:widest])
	}
	slices.SortFunc(row, func(a, b lowrank.Entry) int { return cmp.Compare(a.Column, b.Column) })
	return row
}
