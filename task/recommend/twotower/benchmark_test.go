package twotower

import (
	"strconv"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// paperScale is the paper's towers over 12,000 items of four codes of 256, and
// examples with the given number of items in their history.
func paperScale(tb testing.TB, n, history int) (*Model, *network.Items, []network.Example) {
	tb.Helper()
	rng := weights.Rand(1, "paper")
	vocab := []int{256, 256, 256, 256}
	codes := make([]uint32, 12000*len(vocab))
	for i := range codes {
		codes[i] = uint32(rng.IntN(256))
	}
	m, err := New(Default(), Histories, vocab, Start{})
	if err != nil {
		tb.Fatal(err)
	}
	items, err := network.NewItems(codes, vocab)
	if err != nil {
		tb.Fatal(err)
	}
	examples := make([]network.Example, n)
	for i := range examples {
		examples[i] = network.Example{Question: someQuestion(rng, history, items.Len()), Target: int32(rng.IntN(items.Len()))}
	}
	return m, items, examples
}

// Answers to 64 users one by one and together, a hundred items each.
func BenchmarkTop(b *testing.B) {
	for _, kind := range index.Kinds {
		m, items, examples := paperScale(b, 64, 20)
		s := newRetriever(b, m, m.Init(1), items, network.Options{Index: kind})
		questions := make([]network.Question, len(examples))
		for i, e := range examples {
			questions[i] = e.Question
		}
		for name, size := range map[string]int{"one": 1, "block": 64} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Top(b.Context(), questions[:size], 100); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "questions/s")
			})
		}
	}
}

// Loss and all gradients of the paper's batch of 512.
func BenchmarkTrainingStep(b *testing.B) {
	for _, history := range []int{20, 5} {
		b.Run("history"+strconv.Itoa(history), func(b *testing.B) {
			m, items, examples := paperScale(b, 512, history)
			inputs := newBatch(b, m, items, examples)
			set := m.Init(1)
			store := model.NewStore()
			if err := weights.Install(store, set); err != nil {
				b.Fatal(err)
			}
			state, err := graph.RNGStateFromSeed(1)
			if err != nil {
				b.Fatal(err)
			}
			args := []any{state}
			for _, x := range inputs {
				args = append(args, x)
			}
			step := model.MustNewExec(gradtest.Engine(b), store, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
				v := weights.FromStore(store, in[0].Graph())
				loss := m.Loss(v, in[1:], nn.NewRandom(in[0]))
				var variables []*graph.Node
				for _, p := range set.Paths() {
					variables = append(variables, v.Get(p))
				}
				return append([]*graph.Node{loss}, graph.Gradient(loss, variables...)...)
			})
			for b.Loop() {
				for _, out := range step.MustCall(args...) {
					out.MustFinalizeAll()
				}
			}
		})
	}
}
