package seqrec

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// adam takes steps of Adam (Kingma and Ba, 2015), constant rate, with variables
// and moments in one store.
type adam struct {
	step  *model.Exec
	store *model.Store
	done  int
}

func newAdam(tb testing.TB, m *Model, set weights.Set, rate float64) *adam {
	tb.Helper()
	a := &adam{store: model.NewStore()}
	all := weights.Set{}.Merge("", set)
	for _, p := range set.Paths() {
		all["moments/first/"+p], all["moments/second/"+p] = weights.New(set[p].Shape...), weights.New(set[p].Shape...)
	}
	if err := weights.Install(a.store, all); err != nil {
		tb.Fatal(err)
	}
	a.step = model.MustNewExec(gradtest.Engine(tb), a.store, func(_ *model.Scope, in []*graph.Node) *graph.Node {
		v := weights.FromStore(a.store, in[0].Graph())
		loss := m.Loss(v, in[:m.BatchInputs()], nn.NewRandom(in[m.BatchInputs()]))
		var variables []*graph.Node
		for _, p := range set.Paths() {
			variables = append(variables, v.Get(p))
		}
		next := map[string]*graph.Node{}
		corrections := in[m.BatchInputs()+1] // 1 - β1^t and 1 - β2^t
		for i, gradient := range graph.Gradient(loss, variables...) {
			p := set.Paths()[i]
			blend := func(path string, value *graph.Node, beta float64) *graph.Node {
				next[path] = graph.Add(graph.MulScalar(v.Get(path), beta), graph.MulScalar(value, 1-beta))
				return next[path]
			}
			first := blend("moments/first/"+p, gradient, 0.9)
			second := blend("moments/second/"+p, graph.Square(gradient), 0.99)
			at := func(i int) *graph.Node { return graph.Reshape(graph.Slice(corrections, graph.AxisRange(i, i+1))) }
			size := graph.AddScalar(graph.Sqrt(graph.Div(second, at(1))), 1e-8)
			next[p] = graph.Sub(v.Get(p), graph.MulScalar(graph.Div(graph.Div(first, at(0)), size), rate))
		}
		weights.Assign(a.store, next)
		return loss
	})
	return a
}

// take makes one step and returns the loss before it.
func (a *adam) take(tb testing.TB, inputs []*tensors.Tensor) float64 {
	tb.Helper()
	a.done++
	state, err := graph.RNGStateFromSeed(int64(a.done))
	if err != nil {
		tb.Fatal(err)
	}
	t := float64(a.done)
	corrections := []float32{float32(1 - math.Pow(0.9, t)), float32(1 - math.Pow(0.99, t))}
	args := []any{}
	for _, x := range inputs {
		args = append(args, x)
	}
	out, err := a.step.Call1(append(args, state, tensors.FromValue(corrections))...)
	if err != nil {
		tb.Fatal(err)
	}
	return float64(tensors.ToScalar[float32](out))
}

// The whole chain learns a rule: in a catalogue of 24 items, the next item is
// the one that follows the last in a fixed, arbitrary order. Histories it never
// saw continue correctly, though it spells items code by code.
func TestLearnsTransitions(t *testing.T) {
	c := tiny()
	c.Layers, c.Width, c.FeedForward, c.HeadDim, c.Dropout, c.History, c.UserBuckets = 1, 32, 64, 16, 0.05, 4, 3
	items := catalogue(t, 24)
	m := newModel(t, c)
	rng := weights.Rand(1, "transitions")
	next := make([]int32, items.Len())
	for i, to := range rng.Perm(items.Len()) {
		next[i] = int32(to)
	}
	draw := func() network.Example {
		history := []int32{}
		for range 1 + rng.IntN(4) {
			history = append(history, int32(rng.IntN(items.Len())))
		}
		return example(next[history[len(history)-1]], strconv.Itoa(rng.IntN(100)), history...)
	}
	set := m.Init(1)
	optimizer := newAdam(t, m, set, 5e-3)
	var first, last float64
	for step := range 600 {
		examples := make([]network.Example, 32)
		for i := range examples {
			examples[i] = draw()
		}
		last = optimizer.take(t, newBatch(t, m, items, examples, Shape{Rows: 32, History: 4}))
		if step == 0 {
			first = last
		}
	}
	trained := weights.Set{}
	values, err := weights.Read(optimizer.store, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range set.Paths() {
		trained[p] = values[p]
	}
	var queries []network.Question
	var targets []int32
	for range 100 {
		e := draw()
		queries, targets = append(queries, e.Question), append(targets, e.Target)
	}
	hits := 0
	for i, found := range recommend(t, newBeamSearch(t, m, trained, items, network.Options{Depth: 3}), queries, 1) {
		if found[0].Item == targets[i] {
			hits++
		}
	}
	report := fmt.Sprintf("the loss fell from %.3f to %.3f, %d of 100 unseen histories continue correctly", first, last, hits)
	if hits < 95 || !(last < first/3) {
		t.Error(report)
	}
	t.Log(report)
}
