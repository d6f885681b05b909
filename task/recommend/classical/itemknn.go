package classical

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/weights"
)

// ItemKNN scores an item by its similarity to the items of the history: the cosine
// of their users, smoothed for items with few of them,
//
//	s_ij = c_ij / (sqrt(n_i n_j) + shrink),  i ≠ j,
//
// for c_ij users who took both and n_i who took i.
type ItemKNN struct {
	Weighting  `yaml:",inline"`
	Shrink     float64 `yaml:"shrink" min:"0" doc:"Users added to the divisor of a similarity, against chance among rare items."`
	Neighbours int     `yaml:"neighbours" min:"0" doc:"Most similar items that an item keeps, which bounds memory (0: all)."`
}

// DefaultItemKNN are usual settings.
func DefaultItemKNN() ItemKNN {
	return ItemKNN{Weighting: Weighting{Last: 5}, Shrink: 10, Neighbours: 1000}
}

// String describes the method.
func (m ItemKNN) String() string {
	return fmt.Sprintf("item-kNN (%s, shrink %g)", m.Weighting, m.Shrink)
}

// Alternatives vary the smoothing.
func (m ItemKNN) Alternatives() []Method {
	list := []Method{m}
	for _, shrink := range []float64{10, 30, 100} {
		if other := m; shrink != m.Shrink {
			other.Shrink = shrink
			list = append(list, other)
		}
	}
	return list
}

// Weightings vary how far back a history counts.
func (m ItemKNN) Weightings() []Weighting { return []Weighting{m.Weighting, {5, 0}, {20, 1}, {0, 0.5}} }

// With is the method with another weighting.
func (m ItemKNN) With(w Weighting) Method {
	m.Weighting = w
	return m
}

// Fit counts users who took two items.
func (m ItemKNN) Fit(ctx context.Context, log Log) (Fitted, error) {
	if err := log.check(); err != nil {
		return nil, err
	}
	sets := distinct(log.Users)
	users := placesOf(sets, log.Items)
	f := &itemKNN{ItemKNN: m, takers: make([]float64, log.Items)}
	for i := range f.takers {
		f.takers[i] = float64(users.offsets[i+1] - users.offsets[i])
	}
	fill := func(i int32, s *sum) {
		users.each(i, func(user, _ int32) {
			for _, item := range sets[user] {
				if item != i {
					s.add(item, 1)
				}
			}
		})
	}
	var err error
	f.together, err = makeTable(ctx, log.Items, m.Neighbours, fill, func(i, item int32, together float64) float64 {
		return m.similarity(together, f.takers[i], f.takers[item])
	})
	if err != nil {
		return nil, err
	}
	values := make([]float32, len(f.together.values))
	for i := range log.Items {
		for at := f.together.offsets[i]; at < f.together.offsets[i+1]; at++ {
			values[at] = float32(m.similarity(float64(f.together.values[at]), f.takers[i], f.takers[f.together.items[at]]))
		}
	}
	f.Neighbours = Neighbours{table: table{f.together.offsets, f.together.items, values}, Weighting: m.Weighting}
	return f, nil
}

func (m ItemKNN) similarity(together, a, b float64) float64 {
	return together / (math.Sqrt(a*b) + m.Shrink)
}

// Load makes a scorer of packed arrays.
func (m ItemKNN) Load(set weights.Set, items int) (Scorer, error) { return m.load(set, items) }

type itemKNN struct {
	ItemKNN
	Neighbours
	takers   []float64 // [items] users of each item
	together table     // users of two items
}

func (f *itemKNN) Score(history []int32, scores []float32) { f.Neighbours.Score(history, scores) }

// With is the same with another weighting.
func (f *itemKNN) With(w Weighting) Fitted {
	other := *f
	other.Neighbours.Weighting, other.ItemKNN.Weighting = w, w
	return &other
}

// Pack returns the arrays of the table.
func (f *itemKNN) Pack() weights.Set { return f.Neighbours.Pack() }

// ScoreWithout takes the user out of all counts that it is in: those of its own
// items, and of every two of them.
func (f *itemKNN) ScoreWithout(own, history []int32, scores []float32) {
	mine := slices.Clone(own)
	slices.Sort(mine)
	mine = slices.Compact(mine)
	sums := borrow(len(scores))
	f.Neighbours.visit(history, func(item int32, weight float64) {
		items, together := f.together.row(item)
		next := 0 // of mine, which is ascending as items are
		for i, other := range items {
			for next < len(mine) && mine[next] < other {
				next++
			}
			both, takers := float64(together[i]), f.takers[other]
			if next < len(mine) && mine[next] == other {
				both, takers = both-1, takers-1
			}
			if both > 0 {
				sums[other] += weight * float64(float32(f.similarity(both, f.takers[item]-1, takers)))
			}
		}
	})
	giveBack(sums, scores)
}
