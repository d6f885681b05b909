package gpt

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// tiny is a model in which no two sizes are equal: 3 cells of 2 levels.
func tiny(t *testing.T, tied bool) *Model {
	t.Helper()
	c := Config{Layers: 2, Width: 8, Heads: 2, FeedForward: 12, Tied: tied, Precision: "f32"}
	m, err := New(c, Layout{Vocab: []int{5, 7}, Cells: 3, Classes: 4})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// run evaluates graph code over a model's variables.
func run(t *testing.T, set weights.Set, inputs []*tensors.Tensor, build func(v weights.Vars, in []*graph.Node) []*graph.Node) [][]float32 {
	t.Helper()
	store := model.NewStore()
	defer store.Finalize()
	if err := weights.Install(store, set); err != nil {
		t.Fatal(err)
	}
	args := make([]any, len(inputs))
	for i, x := range inputs {
		args[i] = x
	}
	exec := model.MustNewExec(gradtest.Engine(t), store, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
		return build(weights.FromStore(store, in[0].Graph()), in)
	})
	defer exec.Finalize()
	var results [][]float32
	for _, out := range exec.MustCall(args...) {
		results = append(results, tensors.MustCopyFlatData[float32](out))
	}
	return results
}

// logits are those of all tokens of rows, level after level [B, Cells, codes].
func logits(t *testing.T, m *Model, set weights.Set, starts []int32, codes []uint32) [][]float32 {
	return run(t, set, m.Batch(starts, codes), func(v weights.Vars, in []*graph.Node) (all []*graph.Node) {
		hidden := m.Hidden(v, in[0], in[1], nil)
		for level := range m.Layout.Vocab {
			x, _ := m.ofLevel(hidden, in[1], level)
			all = append(all, m.Logits(v, x, level))
		}
		return all
	})
}

// Later codes change no earlier logits, and every earlier code and the class change
// all later ones.
func TestCausal(t *testing.T) {
	m := tiny(t, false)
	set, tokens := m.Init(3), m.Layout.Tokens()
	row := []uint32{1, 6, 4, 0, 2, 3}
	before := logits(t, m, set, []int32{2}, row)
	for change := -1; change < tokens; change++ {
		start, changed := int32(2), slices.Clone(row)
		if change < 0 {
			start = 1
		} else {
			changed[change] = (changed[change] + 1) % uint32(m.Layout.Vocab[change%2])
		}
		after := logits(t, m, set, []int32{start}, changed)
		for at := range tokens {
			level, cell := at%2, at/2
			from, to := cell*m.Layout.Vocab[level], (cell+1)*m.Layout.Vocab[level]
			if same := slices.Equal(before[level][from:to], after[level][from:to]); same != (at <= change) {
				t.Errorf("a change at %d: the logits of token %d are the same: %v", change, at, same)
			}
		}
	}
}

// Losses are the cross-entropies of the logits, token by token in the order of the row,
// and Loss is their mean.
func TestLossesFollowFromLogits(t *testing.T) {
	for _, tied := range []bool{false, true} {
		m := tiny(t, tied)
		set, tokens := m.Init(3), m.Layout.Tokens()
		starts, codes := []int32{0, m.Layout.NoClass()}, []uint32{1, 6, 4, 0, 2, 3, 0, 0, 3, 5, 1, 1}
		all := logits(t, m, set, starts, codes)
		want, mean := make([]float64, len(codes)), 0.0
		for i, code := range codes {
			level, cell := i%2, i/2
			row := all[level][cell*m.Layout.Vocab[level]:][:m.Layout.Vocab[level]]
			sum := 0.0
			for _, logit := range row {
				sum += math.Exp(float64(logit))
			}
			want[i] = math.Log(sum) - float64(row[code])
			mean += want[i] / float64(len(codes))
		}
		got := run(t, set, m.Batch(starts, codes), func(v weights.Vars, in []*graph.Node) []*graph.Node {
			return []*graph.Node{m.Losses(v, in), m.Loss(v, in, nil)}
		})
		for i := range want {
			if math.Abs(float64(got[0][i])-want[i]) > 1e-5 {
				t.Errorf("tied %v: row %d, token %d has loss %g, want %g", tied, i/tokens, i%tokens, got[0][i], want[i])
			}
		}
		if math.Abs(float64(got[1][0])-mean) > 1e-5 {
			t.Errorf("tied %v: the mean loss is %g, want %g", tied, got[1][0], mean)
		}
	}
}

// Start and Embed, place by place, are the input that Hidden gives the blocks.
func TestEmbedIsTheInputOfHidden(t *testing.T) {
	m := tiny(t, false)
	set := m.Init(3)
	codes := []uint32{1, 6, 4, 0, 2, 3}
	got := run(t, set, m.Batch([]int32{2}, codes), func(v weights.Vars, in []*graph.Node) []*graph.Node {
		places := []*graph.Node{m.Start(v, in[0])}
		for at := range m.Layout.Tokens() - 1 {
			code := graph.Reshape(graph.Slice(in[1], graph.AxisRange(), graph.AxisRange(at, at+1)), 1)
			places = append(places, m.Embed(v, code, at%2))
		}
		x := graph.ExpandAxes(graph.Concatenate(places, 0), 0)
		return []*graph.Node{m.Blocks().Build(v.In(BlocksPrefix), x, nil), m.Hidden(v, in[0], in[1], nil)}
	})
	for i := range got[0] {
		if math.Abs(float64(got[0][i]-got[1][i])) > 1e-5 {
			t.Fatalf("value %d is %g, want %g", i, got[0][i], got[1][i])
		}
	}
}

// Every variable is used and has a gradient.
func TestEveryVariableLearns(t *testing.T) {
	for _, tied := range []bool{false, true} {
		m := tiny(t, tied)
		set := m.Init(3)
		paths := set.Paths()
		starts, codes := []int32{0, 3}, []uint32{1, 6, 4, 0, 2, 3, 0, 0, 3, 5, 1, 1}
		for i, gradient := range run(t, set, m.Batch(starts, codes), func(v weights.Vars, in []*graph.Node) []*graph.Node {
			var all []*graph.Node
			for _, p := range paths {
				all = append(all, v.Get(p))
			}
			return graph.Gradient(m.Loss(v, in, nil), all...)
		}) {
			if !slices.ContainsFunc(gradient, func(x float32) bool { return x != 0 }) {
				t.Errorf("tied %v: %s has no gradient", tied, paths[i])
			}
		}
	}
}

// Matrices decay; embeddings, norms and biases do not.
func TestGroupOfVariables(t *testing.T) {
	m := tiny(t, false)
	for p, a := range m.Init(1) {
		want := weights.Network
		if strings.HasSuffix(p, "/table") || len(a.Shape) == 1 {
			want = weights.Plain
		}
		if got := m.Group(p); got != want {
			t.Errorf("%s is of group %s, want %s", p, got, want)
		}
	}
}

// A row's score depends on neither the rows beside it nor their number.
func TestScorer(t *testing.T) {
	m := tiny(t, true)
	s, err := NewScorer(gradtest.Engine(t), m, m.Init(3))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.rows = 2
	codes := []uint32{1, 6, 4, 0, 2, 3, 0, 0, 3, 5, 1, 1, 4, 4, 4, 4, 4, 4}
	all, err := s.Score(t.Context(), []int32{0, 1, 2}, codes, nil)
	if err != nil {
		t.Fatal(err)
	}
	one, err := s.Score(t.Context(), []int32{2}, codes[12:], nil)
	if err != nil || !slices.Equal(one, all[12:]) {
		t.Errorf("the last row alone scores %v, %v; among others %v", one, err, all[12:])
	}
	for _, bad := range []struct {
		starts []int32
		codes  []uint32
		want   string
	}{
		{[]int32{0}, []uint32{1, 6, 4, 0, 2}, "5 codes are no rows of 6"},
		{[]int32{0}, []uint32{1, 6, 4, 0, 5, 3}, "row 0, cell 2, level 0: code 5 is outside the vocabulary of 5"},
		{[]int32{5}, codes[:6], "class 5"},
		{[]int32{0}, codes[:12], "1 start tokens for 2 rows"},
	} {
		if _, err := s.Score(t.Context(), bad.starts, bad.codes, nil); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v of %v: %v", bad.codes, bad.starts, err)
		}
	}
}

func TestConfigAndLayoutAreChecked(t *testing.T) {
	for want, broken := range map[string]Config{
		"multiple of model.heads": {Layers: 1, Width: 10, Heads: 4, Precision: "f32"},
		"model.layers":            {Width: 8, Heads: 2, Precision: "f32"},
		"model.precision":         {Layers: 1, Width: 8, Heads: 2, Precision: "f16"},
	} {
		if _, err := New(broken, Layout{Vocab: []int{2}, Cells: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %s, got %v", want, err)
		}
	}
	for _, l := range []Layout{{Cells: 1}, {Vocab: []int{4}}, {Vocab: []int{4, 0}, Cells: 2}, {Vocab: []int{4}, Cells: 1, Classes: -1}} {
		if _, err := New(Small(), l); err == nil {
			t.Errorf("a model of %+v was made", l)
		}
	}
}
