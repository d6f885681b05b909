package sasrec

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// reference is testdata/sasrec.json, which sasrec.py beside it wrote.
type reference struct {
	Items, Width, Heads, Hidden, Layers, Length, Room int
	Users                                             [][]int32
	Softmax, Binary                                   float64
	Scores                                            [][]float64
	Variables                                         map[string][]float32
}

func readReference(t *testing.T) (reference, Config) {
	t.Helper()
	text, err := os.ReadFile("testdata/sasrec.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reference
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	c := Default()
	c.Layers, c.Width, c.Heads, c.HeadDim, c.FeedForward, c.Length = r.Layers, r.Width, r.Heads, r.Width/r.Heads, r.Hidden, r.Length
	return r, c
}

// variables are those of the reference.
func (r reference) set(t *testing.T, m *Model) weights.Set {
	t.Helper()
	set := m.Init(1)
	if len(set) != len(r.Variables) {
		t.Fatalf("%d variables, the reference has %d", len(set), len(r.Variables))
	}
	for path, values := range r.Variables {
		if set[path] == nil || len(set[path].Data) != len(values) {
			t.Fatalf("the model has no variable %s like the reference's", path)
		}
		set[path].Data = values
	}
	return set
}

func lossOf(t *testing.T, m *Model, set weights.Set, examples []network.Example, room int, random bool) float64 {
	t.Helper()
	inputs, err := m.Batch(examples, room)
	if err != nil {
		t.Fatal(err)
	}
	store := model.NewStore()
	if err := weights.Install(store, set); err != nil {
		t.Fatal(err)
	}
	state, err := graph.RNGStateFromSeed(1)
	if err != nil {
		t.Fatal(err)
	}
	out, err := model.CallOnce(gradtest.Engine(t), store, func(_ *model.Scope, in []*graph.Node) *graph.Node {
		var draws *nn.Random
		if random {
			draws = nn.NewRandom(in[3])
		}
		return m.Loss(weights.FromStore(store, in[0].Graph()), in[:3], draws)
	}, inputs[0], inputs[1], inputs[2], state)
	if err != nil {
		t.Fatal(err)
	}
	return float64(out.Value().(float32))
}

// Losses, scores and ranks equal those of PyTorch.
func TestReference(t *testing.T) {
	r, c := readReference(t)
	var examples []network.Example
	var questions []network.Question
	for _, user := range r.Users {
		q := network.Question{History: user[:len(user)-1]}
		examples, questions = append(examples, network.Example{Question: q, Target: user[len(user)-1]}), append(questions, q)
	}
	for loss, want := range map[string]float64{"softmax": r.Softmax, "binary": r.Binary} {
		c.Loss = loss
		m, err := New(c, r.Items)
		if err != nil {
			t.Fatal(err)
		}
		if got := lossOf(t, m, r.set(t, m), examples, r.Room, false); math.Abs(got-want) > 1e-5 {
			t.Errorf("%s: a loss of %g, want %g", loss, got, want)
		}
	}
	m, err := New(c, r.Items)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewScorer(gradtest.Engine(t), m, r.set(t, m), r.Items+1, network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range questions { // as the reference reads them
		h := questions[i].History
		questions[i].History = h[max(0, len(h)-r.Room):]
	}
	err = s.Scores(t.Context(), questions, func(i int, scores []float32) {
		for item, want := range r.Scores[i] {
			if math.Abs(float64(scores[item])-want) > 1e-5 {
				t.Errorf("item %d after %v has %g, want %g", item, questions[i].History, scores[item], want)
			}
		}
		if last := scores[r.Items]; len(scores) != r.Items+1 || !math.IsInf(float64(last), -1) {
			t.Errorf("an item that came later has %g", last)
		}
		every := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
		if got, want := eval.RanksOf(scores[:r.Items], every), eval.RanksOf(r.Scores[i], every); !reflect.DeepEqual(got, want) {
			t.Errorf("ranks %v, want %v", got, want)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Other items of a binary loss are never the next item and, in the long run, all others.
func TestOthers(t *testing.T) {
	m, err := New(Default(), 4)
	if err != nil {
		t.Fatal(err)
	}
	state, err := graph.RNGStateFromSeed(5)
	if err != nil {
		t.Fatal(err)
	}
	next := make([]int32, 400)
	for i := range next {
		next[i] = int32(i % 4)
	}
	out, err := model.CallOnce(gradtest.Engine(t), model.NewStore(), func(_ *model.Scope, in []*graph.Node) *graph.Node {
		return m.others(in[0], nn.NewRandom(in[1]))
	}, next, state)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[[2]int32]int{}
	for i, other := range out.Value().([]int32) {
		counts[[2]int32{next[i], other}]++
	}
	for pair, n := range counts {
		if pair[0] == pair[1] || pair[1] < 0 || pair[1] > 3 || n < 10 {
			t.Errorf("item %d is drawn %d times beside %d", pair[1], n, pair[0])
		}
	}
	if len(counts) != 12 {
		t.Errorf("%d pairs were drawn", len(counts))
	}
}

func TestBadInput(t *testing.T) {
	c := Default()
	c.Positions = "relative"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "model.positions") {
		t.Errorf("relative positions: %v", err)
	}
	if _, err := New(Default(), 0); err == nil {
		t.Error("a model of no items")
	}
	m, err := New(Default(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []network.Example{{Target: 3}, {Target: 1, Question: network.Question{History: []int32{-1}}}} {
		if _, err := m.Batch([]network.Example{e}, 5); err == nil {
			t.Errorf("%+v was accepted", e)
		}
	}
}
