package seqrec

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// paperScale is the paper's network over 12,000 items of four codes of 256, and
// users with the given number of items in their history.
func paperScale(tb testing.TB, users, history int) (*Model, *network.Items, []network.Example) {
	tb.Helper()
	rng := weights.Rand(1, "paper")
	vocab := []int{256, 256, 256, 256}
	codes := make([]uint32, 12000*len(vocab))
	for i := range codes {
		codes[i] = uint32(rng.IntN(256))
	}
	items, err := network.NewItems(codes, vocab)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := New(Default(), vocab, false)
	if err != nil {
		tb.Fatal(err)
	}
	examples := make([]network.Example, users)
	for u := range examples {
		examples[u].Name, examples[u].Target = strconv.Itoa(u), int32(rng.IntN(items.Len()))
		for range history {
			examples[u].History = append(examples[u].History, int32(rng.IntN(items.Len())))
		}
	}
	return m, items, examples
}

// Answers to 64 users, and to one alone, beam 20.
func BenchmarkRecommend(b *testing.B) {
	for _, c := range []struct{ history, users int }{{20, 64}, {5, 64}, {20, 1}, {5, 1}} {
		b.Run(fmt.Sprintf("history%d/users%d", c.history, c.users), func(b *testing.B) {
			m, items, examples := paperScale(b, c.users, c.history)
			s, err := NewBeamSearch(gradtest.Engine(b), m, m.Init(1), items, network.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			queries := make([]network.Question, len(examples))
			for i, e := range examples {
				queries[i] = e.Question
			}
			run := func() {
				if _, err := s.Top(b.Context(), queries, 10); err != nil {
					b.Fatal(err)
				}
			}
			run()
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(b.N*len(queries))/b.Elapsed().Seconds(), "users/s")
		})
	}
}

// Loss and all gradients of a batch of 64.
func BenchmarkTrainingStep(b *testing.B) {
	for _, history := range []int{20, 5} {
		b.Run("history"+strconv.Itoa(history), func(b *testing.B) { benchmarkStep(b, history) })
	}
}

func benchmarkStep(b *testing.B, history int) {
	m, items, examples := paperScale(b, 64, history)
	inputs, err := m.Batch(items, examples, Shape{Rows: 64, History: history}, nil)
	if err != nil {
		b.Fatal(err)
	}
	set := m.Init(1)
	store := model.NewStore()
	if err := weights.Install(store, set); err != nil {
		b.Fatal(err)
	}
	state, err := graph.RNGStateFromSeed(1)
	if err != nil {
		b.Fatal(err)
	}
	step := model.MustNewExec(gradtest.Engine(b), store, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
		v := weights.FromStore(store, in[0].Graph())
		loss := m.Loss(v, in[:m.BatchInputs()], nn.NewRandom(in[m.BatchInputs()]))
		var variables []*graph.Node
		for _, p := range set.Paths() {
			variables = append(variables, v.Get(p))
		}
		return append([]*graph.Node{loss}, graph.Gradient(loss, variables...)...)
	})
	run := func() {
		for _, out := range step.MustCall(inputs[0], inputs[1], inputs[2], inputs[3], state) {
			out.MustFinalizeAll()
		}
	}
	run()
	for b.Loop() {
		run()
	}
}

// listing is a prior that lists every sixth item, as many as the rows of a history do.
type listing struct{ base []float32 }

func (l listing) Base() []float32 { return l.base }

func (l listing) Answer(network.Question) network.Likely {
	var answer network.Likely
	for i := 0; i < len(l.base); i += 6 {
		answer.Items, answer.Scores = append(answer.Items, int32(i)), append(answer.Scores, 1)
	}
	return answer
}

func (l listing) AnswerWithout(e network.Example) network.Likely { return l.Answer(e.Question) }

// The host's part of a search that starts from a prior: its masses for 64 users and 20
// beams each, at the root and at three more positions.
func BenchmarkPrior(b *testing.B) {
	const users, width, codes = 64, 20, 256
	m, items, examples := paperScale(b, users, 20)
	prior := listing{make([]float32, items.Len())}
	s := &BeamSearch{model: m, items: items, masses: network.NewMasses(items, prior)}
	questions, scores := make([]network.Question, users), make([]float32, users*width*codes)
	for i, e := range examples {
		questions[i] = e.Question
	}
	for b.Loop() {
		answers := s.answers(questions)
		beams := items.Trie.Start(users)
		for range 4 {
			s.addPrior(answers, beams, scores, codes)
			beams = items.Trie.Walk(beams, scores, codes, width, 0)
		}
	}
	b.ReportMetric(float64(b.N*users)/b.Elapsed().Seconds(), "users/s")
}
