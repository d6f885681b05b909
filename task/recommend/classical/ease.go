package classical

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/weights"
)

// EASE scores an item by a linear regression on the items of the history (Steck,
// 2019): with x [users, items] of 0 and 1 and P = (x'x + l2 I)^-1,
//
//	b_ij = -P_ij / P_jj,  i ≠ j.
type EASE struct {
	Weighting  `yaml:",inline"`
	L2         float64 `yaml:"l2" min:"0.001" doc:"Penalty on the squares of the regression's weights."`
	Items      int     `yaml:"items" min:"1" doc:"Most frequent items that take part; memory is 4 bytes for every two of them."`
	Neighbours int     `yaml:"neighbours" min:"0" doc:"Largest weights that an item keeps, which bounds the stored size (0: all)."`
}

// DefaultEASE are usual settings. The regression takes at most 1 GiB.
func DefaultEASE() EASE {
	return EASE{Weighting: Weighting{Last: 20}, L2: 300, Items: 1 << 14, Neighbours: 1000}
}

// String describes the method.
func (m EASE) String() string { return fmt.Sprintf("EASE (l2 %g, %s)", m.L2, m.Weighting) }

// Alternatives vary the penalty.
func (m EASE) Alternatives() []Method {
	list := []Method{m}
	for _, l2 := range []float64{100, 300, 1000} {
		if other := m; l2 != m.L2 {
			other.L2 = l2
			list = append(list, other)
		}
	}
	return list
}

// Weightings vary how far back a history counts.
func (m EASE) Weightings() []Weighting {
	return []Weighting{m.Weighting, {5, 0}, {20, 0}, {20, 1}, {0, 0.5}}
}

// With is the method with another weighting.
func (m EASE) With(w Weighting) Method {
	m.Weighting = w
	return m
}

// Fit solves the regression.
func (m EASE) Fit(ctx context.Context, log Log) (Fitted, error) {
	if err := log.check(); err != nil {
		return nil, err
	}
	f := &ease{updates: &updates{of: map[*int32]update{}}, EASE: m, chosen: mostFrequent(log, m.Items), places: make([]int32, log.Items)}
	for i := range f.places {
		f.places[i] = -1
	}
	for place, item := range f.chosen {
		f.places[item] = int32(place)
	}
	n := len(f.chosen)
	if err := memory.Check(fmt.Sprintf("a regression of %d items", n), n, n, 4); err != nil {
		return nil, err
	}
	f.inverse = make([]float32, n*n)
	for _, set := range distinct(log.Users) {
		mine := f.placesOf(set)
		for _, i := range mine {
			for _, j := range mine {
				f.inverse[int(i)*n+int(j)]++
			}
		}
	}
	for i := range n {
		f.inverse[i*n+i] += float32(m.L2)
	}
	if err := invert(ctx, f.inverse, n, func(int) {}); err != nil {
		return nil, err
	}
	kept := n
	if m.Neighbours > 0 {
		kept = min(n, m.Neighbours)
	}
	if err := memory.Check(fmt.Sprintf("%d weights of each of %d items", kept, n), n, kept, entryBytes); err != nil {
		return nil, err
	}
	t, err := makeTable(ctx, log.Items, m.Neighbours, func(item int32, s *sum) {
		i := int(f.places[item])
		if i < 0 {
			return
		}
		for j, x := range f.inverse[i*n : (i+1)*n] {
			if j != i {
				s.add(f.chosen[j], -float64(x)/float64(f.inverse[j*n+j]))
			}
		}
	}, bySize)
	f.Neighbours = Neighbours{table: t, Weighting: m.Weighting}
	return f, err
}

// mostFrequent returns the items that most users took, at most so many, in ascending
// order; of equal ones those of the lower numbers. Items that nobody took are left out.
func mostFrequent(log Log, most int) []int32 {
	counts, items := log.Counts(), []int32{}
	for item, n := range counts {
		if n > 0 {
			items = append(items, int32(item))
		}
	}
	slices.SortFunc(items, func(a, b int32) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	items = items[:min(len(items), most)]
	slices.Sort(items)
	return items
}

// Load makes a scorer of packed arrays.
func (m EASE) Load(set weights.Set, items int) (Scorer, error) { return m.load(set, items) }

type ease struct {
	EASE
	Neighbours
	chosen  []int32   // items of the regression
	places  []int32   // [items] place in chosen, -1 without
	inverse []float32 // P [chosen, chosen]
	updates *updates
}

// updates keeps what leaving users out changes, for examples of the same user.
type updates struct {
	sync.Mutex
	of map[*int32]update // by the first of the user's items
}

// keptUpdates bounds the numbers of all updates that are kept: 256 MiB.
const keptUpdates = 1 << 25

func (f *ease) Score(history []int32, scores []float32) { f.Neighbours.Score(history, scores) }

// With is the same with another weighting.
func (f *ease) With(w Weighting) Fitted {
	other := *f
	other.Neighbours.Weighting, other.EASE.Weighting = w, w
	return &other
}

// Pack returns the arrays of the table.
func (f *ease) Pack() weights.Set { return f.Neighbours.Pack() }

// placesOf returns the places of items in the regression.
func (f *ease) placesOf(items []int32) []int32 {
	var list []int32
	for _, item := range items {
		if place := f.places[item]; place >= 0 {
			list = append(list, place)
		}
	}
	return list
}

// ScoreWithout solves the regression without the user, exactly, by the formula of
// Sherman and Morrison: with p = P x for the user's items x,
//
//	P' = P + p p' / (1 - x'p).
func (f *ease) ScoreWithout(own, history []int32, scores []float32) {
	n := len(f.chosen)
	left := f.leftOut(own)
	rows := borrow(n) // Σ weight P'_i over the history
	diagonal := 0.0
	f.Neighbours.visit(history, func(item int32, weight float64) {
		place := int(f.places[item])
		if place < 0 {
			return
		}
		for j, x := range f.inverse[place*n : (place+1)*n] {
			rows[j] += weight * float64(x)
		}
		diagonal += weight * left.p[place]
	})
	clear(scores)
	for j, item := range f.chosen {
		own := float64(f.inverse[j*n+j]) + left.scale*left.p[j]*left.p[j]
		scores[item] = float32(-(rows[j] + left.scale*diagonal*left.p[j]) / own)
	}
	f.Neighbours.visit(history, func(item int32, weight float64) { // b_ii is 0
		if f.places[item] >= 0 {
			scores[item] += float32(weight)
		}
	})
	clear(rows)
	sumsPool.Put(rows) //nolint:staticcheck // a slice of known capacity
}

// update is what leaving a user out adds to P: scale p p'.
type update struct {
	p     []float64
	scale float64
}

func (f *ease) leftOut(own []int32) update {
	if len(own) == 0 {
		return f.update(own)
	}
	f.updates.Lock()
	u, kept := f.updates.of[&own[0]]
	f.updates.Unlock()
	if kept {
		return u
	}
	u = f.update(own)
	f.updates.Lock()
	defer f.updates.Unlock()
	if len(f.updates.of) < keptUpdates/max(1, len(f.chosen)) {
		f.updates.of[&own[0]] = u
	}
	return u
}

func (f *ease) update(own []int32) update {
	n, mine := len(f.chosen), f.placesOf(distinct([][]int32{own})[0])
	u := update{p: make([]float64, n)}
	for _, i := range mine {
		for j, x := range f.inverse[int(i)*n : (int(i)+1)*n] {
			u.p[j] += float64(x)
		}
	}
	norm := 1.0
	for _, i := range mine {
		norm -= u.p[i]
	}
	u.scale = 1 / norm
	return u
}
