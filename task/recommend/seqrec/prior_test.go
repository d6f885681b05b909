package seqrec

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// favourite is a prior that knows what follows the last item of a history.
type favourite struct{ base []float32 }

func newFavourite(n int) favourite {
	f := favourite{make([]float32, n)}
	rng := weights.Rand(1, "base")
	for i := range f.base {
		f.base[i] = float32(rng.NormFloat64() - 3)
	}
	return f
}

func (f favourite) Base() []float32 { return f.base }

func (f favourite) Answer(q network.Question) network.Likely {
	if len(q.History) == 0 {
		return network.Likely{}
	}
	last := q.History[len(q.History)-1]
	if int(last) == len(f.base)-1 {
		return network.Likely{Items: []int32{0}, Scores: []float32{1}}
	}
	return network.Likely{Items: []int32{last, last + 1}, Scores: []float32{-6, 1}}
}

func (f favourite) AnswerWithout(e network.Example) network.Likely { return f.Answer(e.Question) }

// withPrior is a model that starts from a prior.
func withPrior(t *testing.T, smoothing float64) *Model {
	t.Helper()
	c := tiny()
	c.Tied, c.Smoothing = false, smoothing
	m, err := New(c, tinyVocab, true)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Before anything is learned, the probability of every item is exactly the prior's, in
// the loss and in a search with a beam as wide as the catalogue.
func TestStartIsThePrior(t *testing.T) {
	const n = 20
	m, items, prior := withPrior(t, 0), catalogue(t, n), newFavourite(n)
	set := m.Init(1)
	s, err := NewBeamSearch(gradtest.Engine(t), m, set, items, network.Options{Depth: n, Prior: prior})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	questions := someQuestions(12, n)
	lists, err := s.Top(t.Context(), questions, n)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range questions {
		shares, whole := make([]float64, n), 0.0
		for item := range shares {
			shares[item] = math.Exp(float64(prior.Answer(q).Score(prior.base, int32(item))))
			whole += shares[item]
		}
		if len(lists[i]) != n {
			t.Fatalf("%d items were found", len(lists[i]))
		}
		examples := make([]network.Example, n)
		for at, found := range lists[i] {
			want := math.Log(shares[found.Item] / whole)
			if math.Abs(found.Score-want) > 1e-5 {
				t.Errorf("item %d after %v has %g, want %g", found.Item, q.History, found.Score, want)
			}
			examples[at] = network.Example{Question: q, Target: found.Item}
		}
		inputs, err := m.Batch(items, examples, Shape{Rows: n, History: m.Config.History}, network.NewMasses(items, prior))
		if err != nil {
			t.Fatal(err)
		}
		loss := evaluate(t, set, inputs, func(v weights.Vars, in []*graph.Node) []*graph.Node {
			return []*graph.Node{m.Loss(v, in, nil)}
		})[0][0]
		want := 0.0
		for _, share := range shares {
			want -= math.Log(share/whole) / n / float64(len(tinyVocab))
		}
		if math.Abs(float64(loss)-want) > 1e-5 {
			t.Errorf("the loss of all items after %v is %g, want %g", q.History, loss, want)
		}
	}
}

// What is learned is added to the prior the same way in the loss and in the search, and
// smoothing leaves codes without items alone.
func TestLearnedPartIsAddedToThePrior(t *testing.T) {
	const n = 20
	m, items, prior := withPrior(t, 0), catalogue(t, n), newFavourite(n)
	set := m.Init(1)
	rng := weights.Rand(2, "output")
	for position, codes := range tinyVocab {
		set[outputPath(position)] = weights.Normal(rng, 0.5, m.Config.Width, codes)
	}
	s, err := NewBeamSearch(gradtest.Engine(t), m, set, items, network.Options{Depth: n, Prior: prior})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	q := asked("u", 3, 7)
	lists, err := s.Top(t.Context(), []network.Question{q}, n)
	if err != nil {
		t.Fatal(err)
	}
	total, differs := 0.0, false
	for _, found := range lists[0] {
		inputs, err := m.Batch(items, []network.Example{{Question: q, Target: found.Item}}, Shape{Rows: 1, History: m.Config.History},
			network.NewMasses(items, prior))
		if err != nil {
			t.Fatal(err)
		}
		loss := evaluate(t, set, inputs, func(v weights.Vars, in []*graph.Node) []*graph.Node {
			return []*graph.Node{m.Loss(v, in, nil)}
		})[0][0]
		if want := -float64(loss) * float64(len(tinyVocab)); math.Abs(found.Score-want) > 1e-4 {
			t.Errorf("item %d has %g in the search, %g in the loss", found.Item, found.Score, want)
		}
		total += math.Exp(found.Score)
		differs = differs || math.Abs(found.Score-float64(prior.Answer(q).Score(prior.base, found.Item))) > 0.1
	}
	if math.Abs(total-1) > 1e-4 || !differs {
		t.Errorf("all items have the probability %g", total)
	}
	smooth := withPrior(t, 0.1)
	inputs, err := smooth.Batch(items, []network.Example{{Question: q, Target: 4}}, Shape{Rows: 2, History: 6},
		network.NewMasses(items, prior))
	if err != nil {
		t.Fatal(err)
	}
	loss := evaluate(t, set, inputs, func(v weights.Vars, in []*graph.Node) []*graph.Node {
		return []*graph.Node{smooth.Loss(v, in, nil)}
	})[0][0]
	if !(loss > 0 && loss < 20) {
		t.Errorf("a smoothed loss of %g", loss)
	}
}

// A model without what it starts from, or the other way round, is refused.
func TestPriorIsNeeded(t *testing.T) {
	c := tiny()
	if _, err := New(c, tinyVocab, true); err == nil {
		t.Error("tied vectors were accepted with a prior")
	}
	m, items := withPrior(t, 0), catalogue(t, 5)
	if _, err := m.Batch(items, []network.Example{example(1, "u", 2)}, Shape{Rows: 1, History: 2}, nil); err == nil {
		t.Error("a batch was made without the prior")
	}
	if _, err := NewBeamSearch(gradtest.Engine(t), m, m.Init(1), items, network.Options{}); err == nil {
		t.Error("a search was made without the prior")
	}
}
