package twotower

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// The exact index equals comparing every vector; queries of all lengths get the
// vectors of the loss's graph, in any batch; and the approximate indexes give
// the same with full effort.
func TestSearchEqualsBruteForce(t *testing.T) {
	for name, kind := range variants() {
		m := newModel(t, kind.config, kind.reads)
		items, set := catalogue(t, 40), m.Init(3)
		questions := someQuestions(27, 30)
		var examples []network.Example
		for i, q := range questions {
			examples = append(examples, network.Example{Question: q, Target: int32(i)})
		}
		direct := evaluate(t, set, newBatch(t, m, items, examples), func(v weights.Vars, in []*graph.Node) []*graph.Node {
			return []*graph.Node{m.queryVectors(v, query{tokens: in[0], lengths: in[1]}, nil), m.itemVectors(v, in[2], nil, nil)}
		})
		s := newRetriever(t, m, set, items, network.Options{Questions: 4})
		vectors, err := s.vectors(t.Context(), questions)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range vectors {
			if math.Abs(float64(x-direct[0][i])) > 1e-5 {
				t.Fatalf("%s: query %d has another vector in company", name, i/m.Config.Width)
			}
		}
		for i := range questions {
			for j, x := range s.index.Row(i) {
				if math.Abs(float64(x-direct[1][i*m.Config.Width+j])) > 1e-5 {
					t.Fatalf("%s: item %d has another vector in the index", name, i)
				}
			}
		}
		before := s.LookupTime()
		exact, err := s.Top(t.Context(), questions, 7)
		if err != nil {
			t.Fatal(err)
		}
		if before != 0 || s.LookupTime() <= 0 {
			t.Errorf("%s: %v in the index before the first search, %v after", name, before, s.LookupTime())
		}
		for i := range questions {
			query := vectors[i*m.Config.Width : (i+1)*m.Config.Width]
			order := make([]int32, items.Len())
			for item := range order {
				order[item] = int32(item)
			}
			slices.SortStableFunc(order, func(a, b int32) int {
				return compareDown(index.Dot(query, s.index.Row(int(a))), index.Dot(query, s.index.Row(int(b))))
			})
			for place, found := range exact[i] {
				if found.Item != order[place] {
					t.Fatalf("%s: query %d has item %d at place %d, brute force %d", name, i, found.Item, place, order[place])
				}
			}
		}
		for _, kind := range []string{"ivf", "hnsw"} {
			approximate, err := newRetriever(t, m, set, items, network.Options{Index: kind, Effort: 1000}).Top(t.Context(), questions, 7)
			if err != nil {
				t.Fatal(err)
			}
			for i := range questions {
				if !slices.EqualFunc(approximate[i], exact[i], func(a, b network.Scored) bool { return a.Item == b.Item }) {
					t.Errorf("%s: %s finds %v for query %d, not %v", name, kind, approximate[i], i, exact[i])
				}
			}
		}
	}
}

func compareDown(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

func TestRetrieverRefusesWhatDoesNotFit(t *testing.T) {
	m := newModel(t, tiny(), Histories)
	items, set := catalogue(t, 20), m.Init(1)
	delete(set, "query/start")
	if _, err := NewRetriever(t.Context(), gradtest.Engine(t), m, set, items, network.Options{}); err == nil {
		t.Error("a missing variable was accepted")
	}
	set = m.Init(1)
	set["item/projection"].Data[0] = float32(math.NaN())
	if _, err := NewRetriever(t.Context(), gradtest.Engine(t), m, set, items, network.Options{}); err == nil {
		t.Error("variables that are not finite were accepted")
	}
	if _, err := NewRetriever(t.Context(), gradtest.Engine(t), m, m.Init(1), items, network.Options{Effort: -1}); err == nil {
		t.Error("a negative effort was accepted")
	}
	lists, err := newRetriever(t, m, m.Init(1), items, network.Options{}).Top(t.Context(), []network.Question{asked(1)}, 50)
	if err != nil || len(lists[0]) != 20 {
		t.Errorf("a catalogue of 20 gave %d items, %v", len(lists[0]), err)
	}
}
