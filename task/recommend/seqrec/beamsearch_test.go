package seqrec

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

func newBeamSearch(tb testing.TB, m *Model, set weights.Set, items *Items, o SearchOptions) *BeamSearch {
	tb.Helper()
	s, err := NewBeamSearch(gradtest.Engine(tb), m, set, items, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

func recommend(tb testing.TB, s *BeamSearch, queries []Query, k int) [][]Scored {
	tb.Helper()
	found, err := s.Recommend(context.Background(), queries, k)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// ranked sorts all items by score, without those left out.
func ranked(scores []float32, leftOut []int32) []Scored {
	var all []Scored
	for item, score := range scores {
		if !slices.Contains(leftOut, int32(item)) {
			all = append(all, Scored{Item: int32(item), LogProbability: float64(score)})
		}
	}
	slices.SortStableFunc(all, func(a, b Scored) int {
		if a.LogProbability > b.LogProbability {
			return -1
		}
		return 1
	})
	return all
}

// near tells whether two log-probabilities differ by rounding alone.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-5*math.Max(1, math.Abs(b)) }

// same compares two rankings by items and scores; items may change places whose
// scores differ by rounding alone.
func same(t *testing.T, what string, got, want []Scored) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d items, want %d", what, len(got), len(want))
		return
	}
	byItem := map[int32]float64{}
	for _, s := range want {
		byItem[s.Item] = s.LogProbability
	}
	for i, s := range got {
		exact, known := byItem[s.Item]
		if !known || !near(s.LogProbability, exact) || !near(s.LogProbability, want[i].LogProbability) {
			t.Errorf("%s: place %d has item %d with %.6f, want item %d with %.6f; the item's own score is %.6f", what, i, s.Item, s.LogProbability, want[i].Item, want[i].LogProbability, exact)
			return
		}
		delete(byItem, s.Item)
	}
}

// A beam as wide as the catalogue finds what scoring every item finds, with and
// without items already seen.
func TestRecommendEqualsBruteForce(t *testing.T) {
	for name, c := range variants() {
		m, items := newModel(t, c), catalogue(t, 40)
		set := opinionated(m)
		queries := someQueries(9, items.Len())
		all := newBeamSearch(t, m, set, items, SearchOptions{Beam: 40, Users: 4})
		unseen := newBeamSearch(t, m, set, items, SearchOptions{Beam: 40, Users: 4, ExcludeSeen: true})
		found, new := recommend(t, all, queries, 40), recommend(t, unseen, queries, 40)
		for i, q := range queries {
			scores := scoreAll(t, m, set, items, q)
			same(t, name+", all", found[i], ranked(scores, nil))
			same(t, name+", unseen", new[i], ranked(scores, q.History))
		}
		if top := found[1][0].LogProbability - found[1][39].LogProbability; top < 2 {
			t.Errorf("%s: the best and the worst item differ by %g, too little to test a search", name, top)
		}
	}
}

// A narrow beam may miss items, but what it finds is in the catalogue, in order,
// without repetition, and scored exactly.
func TestNarrowBeamsScoreExactly(t *testing.T) {
	m, items := newModel(t, tiny()), catalogue(t, 80)
	set := opinionated(m)
	queries := someQueries(6, items.Len())
	for _, beam := range []int{1, 3, 10} {
		s := newBeamSearch(t, m, set, items, SearchOptions{Beam: beam, Users: 6})
		for i, found := range recommend(t, s, queries, beam) {
			scores := scoreAll(t, m, set, items, queries[i])
			if len(found) != beam {
				t.Errorf("a beam of %d found %d items", beam, len(found))
			}
			seen := map[int32]bool{}
			for place, f := range found {
				if seen[f.Item] || place > 0 && f.LogProbability > found[place-1].LogProbability {
					t.Errorf("beam %d, place %d: item %d is repeated or out of order", beam, place, f.Item)
				}
				seen[f.Item] = true
				if exact := float64(scores[f.Item]); !near(f.LogProbability, exact) {
					t.Errorf("beam %d: item %d scored %.6f, exactly it is %.6f", beam, f.Item, f.LogProbability, exact)
				}
			}
		}
	}
}

// Seen items take no place of the beam, not even as a prefix: a beam of one still
// finds something new.
func TestExcludedItemsLeaveTheBeam(t *testing.T) {
	m := newModel(t, tiny())
	// Items 0 and 1 share all but the last code; 3 has an ID of its own.
	items := newItems(t, []uint32{0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 3, 0, 0, 0}, tinyVocab)
	set := opinionated(m)
	s := newBeamSearch(t, m, set, items, SearchOptions{Beam: 1, Users: 2, ExcludeSeen: true})
	for _, history := range [][]int32{{0}, {0, 1}, {1, 0, 2}, {3, 3, 1}, {3, 0, 2, 0}, {0, 1, 3}} {
		found := recommend(t, s, []Query{{User: "u", History: history}}, 1)[0]
		if len(found) != 1 || slices.Contains(history, found[0].Item) {
			t.Errorf("after %v came %v", history, found)
		}
	}
	if found := recommend(t, s, []Query{{User: "u", History: []int32{3, 2, 1, 0}}}, 1)[0]; len(found) != 0 {
		t.Errorf("after all items came %v", found)
	}
}

// Items that share an ID are found together; of those, seen ones alone are left
// out.
func TestSharedIDs(t *testing.T) {
	m := newModel(t, tiny())
	items := newItems(t, []uint32{1, 1, 1, 1, 0, 2, 0, 0, 1, 1, 1, 1}, tinyVocab)
	set := m.Init(1)
	find := func(o SearchOptions, k int, history ...int32) []int32 {
		o.Beam = 3
		var list []int32
		for _, f := range recommend(t, newBeamSearch(t, m, set, items, o), []Query{{History: history}}, k)[0] {
			list = append(list, f.Item)
		}
		return list
	}
	all := find(SearchOptions{}, 3)
	if place := slices.Index(all, 0); len(all) != 3 || place < 0 || place == 2 || all[place+1] != 2 {
		t.Errorf("found %v: items 0 and 2 should follow each other", all)
	}
	if unseen := find(SearchOptions{ExcludeSeen: true}, 3, 0); len(unseen) != 2 || slices.Contains(unseen, 0) {
		t.Errorf("without item 0 came %v", unseen)
	}
	if one := find(SearchOptions{}, 1); len(one) != 1 {
		t.Errorf("one item was asked for, %v came", one)
	}
}

// Users in small, full and several blocks get the same answers.
func TestBlocks(t *testing.T) {
	m, items := newModel(t, tiny()), catalogue(t, 40)
	set := opinionated(m)
	queries := someQueries(40, items.Len())
	one := recommend(t, newBeamSearch(t, m, set, items, SearchOptions{Users: 1}), queries, 5)
	for _, users := range []int{3, 8, 64} {
		s := newBeamSearch(t, m, set, items, SearchOptions{Users: users})
		for _, s.embedded = range []bool{true, false} {
			for i, found := range recommend(t, s, queries, 5) {
				same(t, "blocks", found, one[i])
			}
			covered := map[int]bool{}
			for _, b := range s.blocks(queries) {
				for _, i := range b.queries {
					covered[i] = true
				}
				if b.users != 1 && b.users != users || len(b.queries) > b.users {
					t.Errorf("a block of %d queries for %d users", len(b.queries), b.users)
				}
			}
			if len(covered) != len(queries) {
				t.Errorf("blocks cover %d of %d queries", len(covered), len(queries))
			}
		}
	}
}

// One searcher serves many callers at a time.
func TestRecommendIsConcurrent(t *testing.T) {
	m, items := newModel(t, tiny()), catalogue(t, 40)
	s := newBeamSearch(t, m, opinionated(m), items, SearchOptions{Users: 4, Beam: 6})
	queries := someQueries(12, items.Len())
	want := recommend(t, s, queries, 6)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			got, err := s.Recommend(context.Background(), queries, 6)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range want {
				if gradtest.Embedded() && !slices.Equal(got[i], want[i]) {
					t.Errorf("user %d: %v, alone it was %v", i, got[i], want[i])
				}
			}
		})
	}
	group.Wait()
}

func TestBeamSearchErrors(t *testing.T) {
	m, items := newModel(t, tiny()), catalogue(t, 40)
	s := newBeamSearch(t, m, m.Init(1), items, SearchOptions{Beam: 5, ExcludeSeen: true})
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := s.Recommend(ctx, someQueries(1, 40), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("after a stop came %v", err)
	}
	long := []int32{99, 1, 2, 3, 4, 5, 6, 7} // the unknown item is older than what the model reads
	broken := m.Init(1)
	broken["encoder/norm/scale"].Data[0] = float32(math.NaN())
	missing := m.Init(1)
	delete(missing, "encoder/norm/scale")
	for message, run := range map[string]func() error{
		"6 items were asked for": func() error { _, err := s.Recommend(t.Context(), nil, 6); return err },
		"0 items were asked for": func() error { _, err := s.Recommend(t.Context(), nil, 0); return err },
		"has item 99":            func() error { _, err := s.Recommend(t.Context(), []Query{{History: long}}, 1); return err },
		"variables are not finite": func() error {
			_, err := newBeamSearch(t, m, broken, items, SearchOptions{}).Recommend(t.Context(), someQueries(1, 40), 1)
			return err
		},
		`"encoder/norm/scale" is missing`: func() error {
			_, err := NewBeamSearch(gradtest.Engine(t), m, missing, items, SearchOptions{})
			return err
		},
		"neither can be negative": func() error {
			_, err := NewBeamSearch(gradtest.Engine(t), m, m.Init(1), items, SearchOptions{Beam: -1})
			return err
		},
		"IDs of 1 codes, the model of 4": func() error {
			_, err := NewBeamSearch(gradtest.Engine(t), m, m.Init(1), newItems(t, []uint32{1}, []int{2}), SearchOptions{})
			return err
		},
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("want %q, got %v", message, err)
		}
	}
	if found := recommend(t, s, nil, 3); len(found) != 0 {
		t.Errorf("nobody asked, %v came", found)
	}
}
