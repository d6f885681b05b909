package twotower

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

func tiny() Config {
	return Config{
		Blocks: network.Blocks{Layers: 1, Width: 8, FeedForward: 12, Heads: 2, HeadDim: 4, Activation: "gelu", Norm: "layer",
			Positions: "absolute", Precision: "f32"},
		ItemLayers: 1, Pool: "mean", Length: 6, WordBuckets: 30, Similarity: "dot", LearnedTemperature: true, Popularity: true,
	}
}

// variant is a model; each has other options than the next.
type variant struct {
	config Config
	reads  Reads
}

func variants() map[string]variant {
	other := tiny()
	other.ItemLayers, other.Norm, other.Positions, other.Pool = 0, "rms", "relative", "first"
	other.Similarity, other.LearnedTemperature, other.Temperature, other.Popularity = "cosine", false, 0.3, false
	return map[string]variant{
		"histories": {tiny(), Histories}, "words": {tiny(), Words}, "other histories": {other, Histories}, "other words": {other, Words},
	}
}

var tinyVocab = []int{4, 3, 5}

func newModel(tb testing.TB, c Config, reads Reads) *Model {
	tb.Helper()
	m, err := New(c, reads, tinyVocab, Start{})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// catalogue is n of the 60 IDs there are, in an arbitrary order.
func catalogue(tb testing.TB, n int) *network.Items {
	tb.Helper()
	var codes []uint32
	for _, i := range weights.Rand(1, "catalogue").Perm(60)[:n] {
		codes = append(codes, uint32(i/15), uint32(i/5%3), uint32(i%5))
	}
	items, err := network.NewItems(codes, tinyVocab)
	if err != nil {
		tb.Fatal(err)
	}
	return items
}

// asked is a question that both kinds of towers read: items, or as many words.
func asked(numbers ...int32) network.Question {
	q := network.Question{History: numbers}
	for _, n := range numbers {
		q.Text += fmt.Sprintf("w%d ", n)
	}
	return q
}

// example is a question with its answer.
func example(target int32, numbers ...int32) network.Example {
	return network.Example{Question: asked(numbers...), Target: target}
}

// someQuestions have lengths from empty to longer than the model reads.
func someQuestions(n, below int) []network.Question {
	rng := weights.Rand(1, "queries")
	questions := make([]network.Question, n)
	for i := range questions {
		questions[i] = someQuestion(rng, i%9, below)
	}
	return questions
}

func someQuestion(rng *rand.Rand, n, below int) network.Question {
	numbers := make([]int32, n)
	for i := range numbers {
		numbers[i] = int32(rng.IntN(below))
	}
	return asked(numbers...)
}

// newBatch takes shares of 1 where none are given.
func newBatch(tb testing.TB, m *Model, items *network.Items, examples []network.Example, logShares ...float32) []*tensors.Tensor {
	tb.Helper()
	if logShares == nil {
		logShares = make([]float32, len(examples))
	}
	inputs, err := m.Batch(items, examples, logShares, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return inputs
}

// evaluate runs graph code over a model's variables and a batch.
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

func newRetriever(tb testing.TB, m *Model, set weights.Set, items *network.Items, o network.Options) *Retriever {
	tb.Helper()
	s, err := NewRetriever(tb.Context(), gradtest.Engine(tb), m, set, items, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}
