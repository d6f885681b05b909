package classical

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/weights"
)

// Transitions scores an item by how often it followed the items of the history:
//
//	t_ij = Σ 1/d / (Σ_k t_ik)^norm
//
// over all places where j was taken d <= window items after i.
type Transitions struct {
	Weighting  `yaml:",inline"`
	Window     int     `yaml:"window" min:"1" below:"11" doc:"Items after an item that are counted as following it."`
	Norm       float64 `yaml:"norm" min:"0" below:"2" doc:"Power of an item's total that its transitions are divided by (1: shares)."`
	Neighbours int     `yaml:"neighbours" min:"0" doc:"Most frequent followers that an item keeps, which bounds memory (0: all)."`
}

// DefaultTransitions are usual settings.
func DefaultTransitions() Transitions {
	return Transitions{Weighting: Weighting{Last: 5, Decay: 1}, Window: 5, Neighbours: 1000}
}

// String describes the method.
func (m Transitions) String() string {
	return fmt.Sprintf("transitions (window %d, norm %g, %s)", m.Window, m.Norm, m.Weighting)
}

// Alternatives vary the norm.
func (m Transitions) Alternatives() []Method {
	list := []Method{m}
	for _, norm := range []float64{0, 0.5, 1} {
		if other := m; norm != m.Norm {
			other.Norm = norm
			list = append(list, other)
		}
	}
	return list
}

// Weightings vary how far back a history counts.
func (m Transitions) Weightings() []Weighting {
	return []Weighting{m.Weighting, {5, 1}, {20, 1}, {20, 0.5}}
}

// With is the method with another weighting.
func (m Transitions) With(w Weighting) Method {
	m.Weighting = w
	return m
}

// parts of a transition at distance 1, a number that all distances divide: counts of
// parts are integers, so equal counts are equal whatever the order of their sums.
const parts = 2520

// Fit counts transitions.
func (m Transitions) Fit(ctx context.Context, log Log) (Fitted, error) {
	if err := log.check(); err != nil {
		return nil, err
	}
	where := placesOf(log.Users, log.Items)
	f := &transitions{Transitions: m, totals: make([]float64, log.Items)}
	fill := func(i int32, s *sum) {
		where.each(i, func(user, at int32) {
			m.followers(log.Users[user], int(at), func(item int32, count float64) {
				s.add(item, count)
				f.totals[i] += count
			})
		})
	}
	counts, err := makeTable(ctx, log.Items, m.Neighbours, fill, bySize)
	if err != nil {
		return nil, err
	}
	f.Neighbours = Neighbours{counts, make([]float32, log.Items), m.Weighting}
	for i, total := range f.totals {
		f.scales[i] = float32(m.scale(total))
	}
	return f, nil
}

// followers calls for the items after a place, with their counts in parts.
func (m Transitions) followers(sequence []int32, at int, do func(item int32, count float64)) {
	for d := 1; d <= m.Window && at+d < len(sequence); d++ {
		do(sequence[at+d], float64(parts/d))
	}
}

// scale turns the counts of an item, with this total, into t.
func (m Transitions) scale(total float64) float64 {
	if total == 0 {
		return 0
	}
	return reciprocal(total/parts, m.Norm) / parts
}

// Load makes a scorer of packed arrays.
func (m Transitions) Load(set weights.Set, items int) (Scorer, error) { return m.load(set, items) }

type transitions struct {
	Transitions
	Neighbours           // in parts
	totals     []float64 // [items] parts that follow each item
}

func (f *transitions) Score(history []int32, scores []float32) { f.Neighbours.Score(history, scores) }

// With is the same with another weighting.
func (f *transitions) With(w Weighting) Fitted {
	other := *f
	other.Neighbours.Weighting, other.Transitions.Weighting = w, w
	return &other
}

// Pack returns the arrays of the table.
func (f *transitions) Pack() weights.Set { return f.Neighbours.Pack() }

// ScoreWithout subtracts the transitions of the user's own sequence.
func (f *transitions) ScoreWithout(own, history []int32, scores []float32) {
	sums, mine := borrow(len(scores)), borrow(len(scores)) // mine are the user's followers of an item
	f.Neighbours.visit(history, func(item int32, weight float64) {
		total := f.totals[item]
		change := func(sign float64) {
			for place, other := range own {
				if other == item {
					f.followers(own, place, func(follower int32, count float64) {
						mine[follower] += sign * count
						total -= sign * count
					})
				}
			}
		}
		change(1)
		items, counts := f.row(item)
		weight *= float64(float32(f.scale(total)))
		for i, other := range items {
			if count := float64(counts[i]) - mine[other]; count > 0 {
				sums[other] += weight * count
			}
		}
		change(-1) // counts are integers: zeros are left
	})
	sumsPool.Put(mine) //nolint:staticcheck // a slice of known capacity
	giveBack(sums, scores)
}
