package twotower

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// neighbour is a prior that lists the item after the last one of a history.
type neighbour struct{ base []float32 }

func (p neighbour) Base() []float32 { return p.base }

func (p neighbour) Answer(q network.Question) network.Likely {
	if len(q.History) == 0 {
		return network.Likely{}
	}
	next := (q.History[len(q.History)-1] + 1) % int32(len(p.base))
	return network.Likely{Items: []int32{next}, Scores: []float32{2}}
}

func (p neighbour) AnswerWithout(e network.Example) network.Likely { return p.Answer(e.Question) }

func newNeighbour(n int) neighbour {
	p := neighbour{make([]float32, n)}
	for i := range p.base {
		p.base[i] = float32(i%7) / 4
	}
	return p
}

// started is a model of n items with a prior and items' own vectors, and variables after
// some training, as it were.
func started(t *testing.T, n, whole int) (*Model, weights.Set) {
	t.Helper()
	c := tiny()
	c.Own, c.Whole = true, whole
	m, err := New(c, Histories, tinyVocab, Start{Items: n, Prior: true})
	if err != nil {
		t.Fatal(err)
	}
	set := m.Init(1)
	rng := weights.Rand(1, "trained")
	set["query/projection"] = weights.Normal(rng, 1, c.Width, c.Width)
	set["own/table"] = weights.Normal(rng, 0.2, n, c.Width)
	set["prior_weight"].Data[0] = 0.75
	return m, set
}

// scoresOf are the scores of all items for questions.
func scoresOf(t *testing.T, s *Retriever, questions []network.Question) [][]float32 {
	t.Helper()
	all := make([][]float32, len(questions))
	if err := s.Scores(t.Context(), questions, func(i int, scores []float32) { all[i] = slices.Clone(scores) }); err != nil {
		t.Fatal(err)
	}
	return all
}

// The loss over the whole catalogue is the softmax of the scores that answers are ranked
// by, without the other answers of a question; in a batch it is that of its targets.
func TestLossIsOfTheScores(t *testing.T) {
	const n = 20
	items, prior := catalogue(t, n), newNeighbour(n)
	examples := []network.Example{example(4, 1, 2, 3), example(9), example(0, 19, 0), example(7, 6)}
	examples[3].Relevant = []int32{2, 7, 11}
	var questions []network.Question
	for _, e := range examples {
		questions = append(questions, e.Question)
	}
	for _, whole := range []int{n, 0} {
		m, set := started(t, n, whole)
		scores := scoresOf(t, newRetriever(t, m, set, items, network.Options{Prior: prior}), questions)
		want := 0.0
		for i, e := range examples {
			total := 0.0
			for item, s := range scores[i] {
				target := slices.ContainsFunc(examples, func(other network.Example) bool { return int(other.Target) == item })
				hidden := int32(item) != e.Target && slices.Contains(e.Relevant, int32(item))
				if !hidden && (whole > 0 || target) {
					total += math.Exp(float64(s))
				}
			}
			want -= (float64(scores[i][e.Target]) - math.Log(total)) / float64(len(examples))
		}
		inputs, err := m.Batch(items, examples, make([]float32, len(examples)), prior)
		if err != nil {
			t.Fatal(err)
		}
		got := evaluate(t, set, inputs, func(v weights.Vars, in []*graph.Node) []*graph.Node {
			return []*graph.Node{m.Loss(v, in, nil)}
		})[0][0]
		if math.Abs(float64(got)-want) > 1e-4 {
			t.Errorf("up to %d items: a loss of %g, want %g", whole, got, want)
		}
	}
}

// A factor of what was learned changes answers as variables do that were shrunk by it,
// and leaves the prior alone.
func TestShrink(t *testing.T) {
	const n = 20
	m, set := started(t, n, 0)
	prior, questions := newNeighbour(n), someQuestions(6, n)
	s := newRetriever(t, m, set, catalogue(t, n), network.Options{Prior: prior})
	full := scoresOf(t, s, questions)
	s.Shrink(0.25)
	got := scoresOf(t, s, questions)
	want := scoresOf(t, newRetriever(t, m, Shrunk(set, 0.25), catalogue(t, n), network.Options{Prior: prior}), questions)
	for i, q := range questions {
		answer := prior.Answer(q)
		for item, x := range got[i] {
			added := 0.75 * answer.Score(prior.base, int32(item))
			if exact := added + 0.25*(full[i][item]-added); math.Abs(float64(x-want[i][item])) > 1e-5 || math.Abs(float64(x-exact)) > 1e-5 {
				t.Fatalf("item %d has %g, with shrunk variables %g, want %g", item, x, want[i][item], exact)
			}
		}
	}
}

// An item that was added later has no vector of its own: it is placed by its codes.
func TestLaterItemsHaveCodesAlone(t *testing.T) {
	const n = 20
	m, set := started(t, n, 0)
	codes := []uint32{}
	known := catalogue(t, n)
	for item := range int32(n) {
		codes = append(codes, known.ID(item)...)
	}
	items, err := network.NewItems(append(codes, known.ID(3)...), tinyVocab)
	if err != nil {
		t.Fatal(err)
	}
	prior := neighbour{make([]float32, n+1)}
	score := func(set weights.Set) []float32 {
		s := newRetriever(t, m, set, items, network.Options{Prior: prior})
		return scoresOf(t, s, []network.Question{{History: []int32{5, 1}}})[0]
	}
	whole := score(set)
	bare := Shrunk(set, 1)
	bare["own/table"] = set["own/table"].Clone()
	clear(bare["own/table"].Row(3))
	if codesAlone := score(bare)[3]; whole[n] != codesAlone || whole[3] == codesAlone {
		t.Errorf("the later item has %g, item 3 with the same codes %g, by these alone %g", whole[n], whole[3], codesAlone)
	}
	c := tiny()
	c.Similarity = "cosine"
	if _, err := New(c, Histories, tinyVocab, Start{Items: n, Prior: true}); err == nil {
		t.Error("a cosine was accepted with a prior")
	}
	if _, err := NewRetriever(t.Context(), gradtest.Engine(t), m, set, items, network.Options{}); err == nil {
		t.Error("a retriever was made without the prior")
	}
}
