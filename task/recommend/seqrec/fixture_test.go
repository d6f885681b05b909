package seqrec

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// tiny is a network in which no two sizes are equal.
func tiny() Config {
	return Config{
		Blocks: network.Blocks{Layers: 2, Width: 12, FeedForward: 20, Heads: 2, HeadDim: 8, Activation: "relu", Norm: "rms",
			Positions: "relative", Precision: "f32"},
		Tied: true, History: 6, UserBuckets: 5,
	}
}

// tinyVocab ends with a position that tells items apart that share the others.
var tinyVocab = []int{4, 3, 5, 2}

// variants are networks that cover every option.
func variants() map[string]Config {
	other := tiny()
	other.Norm, other.Positions, other.Tied, other.Activation = "layer", "absolute", false, "gelu"
	return map[string]Config{"relative": tiny(), "absolute": other}
}

func newModel(tb testing.TB, c Config) *Model {
	tb.Helper()
	m, err := New(c, tinyVocab, false)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// catalogue draws n items with distinct IDs.
func catalogue(tb testing.TB, n int) *network.Items {
	tb.Helper()
	rng := weights.Rand(1, "catalogue")
	var codes []uint32
	taken := map[[4]uint32]bool{}
	for len(taken) < n {
		var id [4]uint32
		for t, vocab := range tinyVocab {
			id[t] = uint32(rng.IntN(vocab))
		}
		if !taken[id] {
			taken[id] = true
			codes = append(codes, id[:]...)
		}
	}
	return newItems(tb, codes, tinyVocab)
}

func newItems(tb testing.TB, codes []uint32, vocab []int) *network.Items {
	tb.Helper()
	items, err := network.NewItems(codes, vocab)
	if err != nil {
		tb.Fatal(err)
	}
	return items
}

// someQuestions have histories from empty to longer than the model reads.
func someQuestions(n, items int) []network.Question {
	rng := weights.Rand(1, "queries")
	questions := make([]network.Question, n)
	for i := range questions {
		questions[i] = network.Question{Name: strconv.Itoa(i), History: someHistory(rng, i%9, items)}
	}
	return questions
}

func someHistory(rng *rand.Rand, n, items int) []int32 {
	var history []int32
	for range n {
		history = append(history, int32(rng.IntN(items)))
	}
	return history
}

// opinionated returns variables large enough for predictions far from uniform.
func opinionated(m *Model) weights.Set {
	set := m.Init(3)
	for _, p := range set.Paths() {
		for i := range set[p].Data {
			set[p].Data[i] *= 1.5
		}
	}
	return set
}

// evaluate runs graph code over the model's variables and a batch.
func evaluate(tb testing.TB, set weights.Set, inputs []*tensors.Tensor,
	build func(v weights.Vars, in []*graph.Node) []*graph.Node) [][]float32 {
	tb.Helper()
	store := model.NewStore()
	if err := weights.Install(store, set); err != nil {
		tb.Fatal(err)
	}
	args := make([]any, len(inputs))
	for i, x := range inputs {
		args[i] = x
	}
	outputs, err := model.CallOnceN(gradtest.Engine(tb), store, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
		return build(weights.FromStore(store, in[0].Graph()), in)
	}, args...)
	if err != nil {
		tb.Fatal(err)
	}
	values := make([][]float32, len(outputs))
	for i, out := range outputs {
		if values[i], err = tensors.CopyFlatData[float32](out); err != nil {
			tb.Fatal(err)
		}
	}
	return values
}

func newBatch(tb testing.TB, m *Model, items *network.Items, examples []network.Example, shape Shape) []*tensors.Tensor {
	tb.Helper()
	inputs, err := m.Batch(items, examples, shape, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return inputs
}

// scoreAll returns the log-probability of every item for a question, each from a
// full pass that is told the item's codes.
func scoreAll(tb testing.TB, m *Model, set weights.Set, items *network.Items, q network.Question) []float32 {
	tb.Helper()
	examples := make([]network.Example, items.Len())
	for i := range examples {
		examples[i] = network.Example{Question: q, Target: int32(i)}
	}
	inputs := newBatch(tb, m, items, examples, Shape{Rows: items.Len(), History: m.Config.History})
	return evaluate(tb, set, inputs, func(v weights.Vars, in []*graph.Node) []*graph.Node {
		return []*graph.Node{m.score(v, in)}
	})[0]
}

// score is the log-probability of each target's whole ID, [B], for the first
// three inputs that Batch makes: the sum over its codes, each given those before.
func (m *Model) score(v weights.Vars, inputs []*graph.Node) *graph.Node {
	targets := inputs[2]
	var sum *graph.Node
	for t, logp := range m.logProbabilities(v, inputs[0], inputs[1], targets, nil, nil) {
		own := graph.ReduceSum(graph.Mul(graph.OneHot(column(targets, t), m.vocab.Codes[t], logp.DType()), logp), -1)
		if sum == nil {
			sum = own
		} else {
			sum = graph.Add(sum, own)
		}
	}
	return sum
}

// asked is a question, example one with its answer.
func asked(user string, history ...int32) network.Question {
	return network.Question{Name: user, History: history}
}

func example(target int32, user string, history ...int32) network.Example {
	return network.Example{Question: asked(user, history...), Target: target}
}
