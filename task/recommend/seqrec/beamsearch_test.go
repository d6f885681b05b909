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
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

func newBeamSearch(tb testing.TB, m *Model, set weights.Set, items *network.Items, o network.Options) *BeamSearch {
	tb.Helper()
	s, err := NewBeamSearch(gradtest.Engine(tb), m, set, items, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

func recommend(tb testing.TB, s *BeamSearch, queries []network.Question, k int) [][]network.Scored {
	tb.Helper()
	found, err := s.Top(context.Background(), queries, k)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// ranked sorts all items by score, without those left out.
func ranked(scores []float32, leftOut []int32) []network.Scored {
	var all []network.Scored
	for item, score := range scores {
		if !slices.Contains(leftOut, int32(item)) {
			all = append(all, network.Scored{Item: int32(item), Score: float64(score)})
		}
	}
	slices.SortStableFunc(all, func(a, b network.Scored) int {
		if a.Score > b.Score {
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
func same(t *testing.T, what string, got, want []network.Scored) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d items, want %d", what, len(got), len(want))
		return
	}
	byItem := map[int32]float64{}
	for _, s := range want {
		byItem[s.Item] = s.Score
	}
	for i, s := range got {
		exact, known := byItem[s.Item]
		if !known || !near(s.Score, exact) || !near(s.Score, want[i].Score) {
			t.Errorf("%s: place %d has item %d with %.6f, want item %d with %.6f; the item's own score is %.6f",
				what, i, s.Item, s.Score, want[i].Item, want[i].Score, exact)
			return
		}
		delete(byItem, s.Item)
	}
}

// A beam as wide as the catalogue equals scoring every item, with and without
// items already seen.
func TestRecommendEqualsBruteForce(t *testing.T) {
	for name, c := range variants() {
		m, items := newModel(t, c), catalogue(t, 40)
		set := opinionated(m)
		queries := someQuestions(9, items.Len())
		all := newBeamSearch(t, m, set, items, network.Options{Depth: 40, Questions: 4})
		unseen := newBeamSearch(t, m, set, items, network.Options{Depth: 40, Questions: 4, ExcludeSeen: true})
		found, new := recommend(t, all, queries, 40), recommend(t, unseen, queries, 40)
		for i, q := range queries {
			scores := scoreAll(t, m, set, items, q)
			same(t, name+", all", found[i], ranked(scores, nil))
			same(t, name+", unseen", new[i], ranked(scores, q.History))
		}
		if top := found[1][0].Score - found[1][39].Score; top < 2 {
			t.Errorf("%s: the best and the worst item differ by %g, too little to test a search", name, top)
		}
	}
}

// A narrow beam may miss items, but its answers are in the catalogue, in order,
// without repetition, and scored exactly.
func TestNarrowBeamsScoreExactly(t *testing.T) {
	m, items := newModel(t, tiny()), catalogue(t, 80)
	set := opinionated(m)
	queries := someQuestions(6, items.Len())
	for _, beam := range []int{1, 3, 10} {
		s := newBeamSearch(t, m, set, items, network.Options{Depth: beam, Questions: 6})
		for i, found := range recommend(t, s, queries, beam) {
			scores := scoreAll(t, m, set, items, queries[i])
			if len(found) != beam {
				t.Errorf("a beam of %d found %d items", beam, len(found))
			}
			seen := map[int32]bool{}
			for place, f := range found {
				if seen[f.Item] || place > 0 && f.Score > found[place-1].Score {
					t.Errorf("beam %d, place %d: item %d is repeated or out of order", beam, place, f.Item)
				}
				seen[f.Item] = true
				if exact := float64(scores[f.Item]); !near(f.Score, exact) {
					t.Errorf("beam %d: item %d scored %.6f, exactly it is %.6f", beam, f.Item, f.Score, exact)
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
	s := newBeamSearch(t, m, set, items, network.Options{Depth: 1, Questions: 2, ExcludeSeen: true})
	for _, history := range [][]int32{{0}, {0, 1}, {1, 0, 2}, {3, 3, 1}, {3, 0, 2, 0}, {0, 1, 3}} {
		found := recommend(t, s, []network.Question{{Name: "u", History: history}}, 1)[0]
		if len(found) != 1 || slices.Contains(history, found[0].Item) {
			t.Errorf("after %v came %v", history, found)
		}
	}
	if found := recommend(t, s, []network.Question{{Name: "u", History: []int32{3, 2, 1, 0}}}, 1)[0]; len(found) != 0 {
		t.Errorf("after all items came %v", found)
	}
}

// Items that share an ID are found together; of those, seen ones alone are left
// out.
func TestSharedIDs(t *testing.T) {
	m := newModel(t, tiny())
	items := newItems(t, []uint32{1, 1, 1, 1, 0, 2, 0, 0, 1, 1, 1, 1}, tinyVocab)
	set := m.Init(1)
	find := func(o network.Options, k int, history ...int32) []int32 {
		o.Depth = 3
		var list []int32
		for _, f := range recommend(t, newBeamSearch(t, m, set, items, o), []network.Question{{History: history}}, k)[0] {
			list = append(list, f.Item)
		}
		return list
	}
	all := find(network.Options{}, 3)
	if place := slices.Index(all, 0); len(all) != 3 || place < 0 || place == 2 || all[place+1] != 2 {
		t.Errorf("found %v: items 0 and 2 should follow each other", all)
	}
	if unseen := find(network.Options{ExcludeSeen: true}, 3, 0); len(unseen) != 2 || slices.Contains(unseen, 0) {
		t.Errorf("without item 0 came %v", unseen)
	}
	if one := find(network.Options{}, 1); len(one) != 1 {
		t.Errorf("one item was asked for, %v came", one)
	}
}

// Users in small, full and several blocks get the same answers.
func TestBlocks(t *testing.T) {
	m, items := newModel(t, tiny()), catalogue(t, 40)
	set := opinionated(m)
	queries := someQuestions(40, items.Len())
	one := recommend(t, newBeamSearch(t, m, set, items, network.Options{Questions: 1}), queries, 5)
	for _, users := range []int{3, 8, 64} {
		s := newBeamSearch(t, m, set, items, network.Options{Questions: users})
		for _, s.embedded = range []bool{true, false} {
			for i, found := range recommend(t, s, queries, 5) {
				same(t, "blocks", found, one[i])
			}
			covered := map[int]bool{}
			for _, b := range s.blocks(queries) {
				for _, i := range b.questions {
					covered[i] = true
				}
				if b.rows != 1 && b.rows != users || len(b.questions) > b.rows {
					t.Errorf("a block of %d queries for %d users", len(b.questions), b.rows)
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
	s := newBeamSearch(t, m, opinionated(m), items, network.Options{Questions: 4, Depth: 6})
	queries := someQuestions(12, items.Len())
	want := recommend(t, s, queries, 6)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			got, err := s.Top(context.Background(), queries, 6)
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
	s := newBeamSearch(t, m, m.Init(1), items, network.Options{Depth: 5, ExcludeSeen: true})
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := s.Top(ctx, someQuestions(1, 40), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("after a stop came %v", err)
	}
	long := []int32{99, 1, 2, 3, 4, 5, 6, 7} // the unknown item is older than the model's history
	broken := m.Init(1)
	broken["encoder/norm/scale"].Data[0] = float32(math.NaN())
	missing := m.Init(1)
	delete(missing, "encoder/norm/scale")
	for message, run := range map[string]func() error{
		"6 items were asked for":          func() error { _, err := s.Top(t.Context(), nil, 6); return err },
		"0 items were asked for":          func() error { _, err := s.Top(t.Context(), nil, 0); return err },
		"item 99 is not in the catalogue": func() error { _, err := s.Top(t.Context(), []network.Question{{History: long}}, 1); return err },
		"variables are not finite": func() error {
			_, err := newBeamSearch(t, m, broken, items, network.Options{}).Top(t.Context(), someQuestions(1, 40), 1)
			return err
		},
		`"encoder/norm/scale" is missing`: func() error {
			_, err := NewBeamSearch(gradtest.Engine(t), m, missing, items, network.Options{})
			return err
		},
		"neither can be negative": func() error {
			_, err := NewBeamSearch(gradtest.Engine(t), m, m.Init(1), items, network.Options{Depth: -1})
			return err
		},
		"IDs of 1 codes, the model of 4": func() error {
			_, err := NewBeamSearch(gradtest.Engine(t), m, m.Init(1), newItems(t, []uint32{1}, []int{2}), network.Options{})
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
