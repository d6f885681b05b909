package seqrec

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

func flat[T int32 | float32](t *testing.T, x *tensors.Tensor) []T {
	t.Helper()
	values, err := tensors.CopyFlatData[T](x)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// Tokens are the user's bucket and the codes, numbered by position; only the
// last items of a history are read; unused rows and places hold zeros.
func TestBatch(t *testing.T) {
	c := tiny()
	c.UserBuckets = 3
	m, err := New(c, []int{10, 20}, false)
	if err != nil {
		t.Fatal(err)
	}
	items := newItems(t, []uint32{1, 11, 2, 12, 3, 13, 4, 14}, []int{10, 20})
	inputs := newBatch(t, m, items, []network.Example{example(3, "x", 0, 1, 2), example(0, "y", 3)}, Shape{Rows: 3, History: 2})
	x, y := m.userToken("x"), m.userToken("y")
	// Codes of the first position come after the start and three users, codes of
	// the second after ten more.
	want := []int32{
		x, 4 + 2, 14 + 12, 4 + 3, 14 + 13,
		y, 4 + 4, 14 + 14, 0, 0,
		0, 0, 0, 0, 0,
	}
	if got := flat[int32](t, inputs[0]); !slices.Equal(got, want) {
		t.Errorf("tokens %v, want %v", got, want)
	}
	if got := flat[int32](t, inputs[1]); !slices.Equal(got, []int32{5, 3, 0}) {
		t.Errorf("lengths %v", got)
	}
	if got := flat[int32](t, inputs[2]); !slices.Equal(got, []int32{4, 14, 1, 11, 0, 0}) {
		t.Errorf("targets %v", got)
	}
	if got := flat[float32](t, inputs[3]); !slices.Equal(got, []float32{1, 1, 0}) {
		t.Errorf("rows in use %v", got)
	}
}

// Users are spread over all buckets, the same user to the same one.
func TestUserBuckets(t *testing.T) {
	m := newModel(t, tiny())
	counts := map[int32]int{}
	for _, q := range someQuestions(5000, 10) {
		token := m.userToken(q.Name)
		if token < 1 || token > 5 || token != m.userToken(q.Name) {
			t.Fatalf("user %s has token %d", q.Name, token)
		}
		counts[token]++
	}
	for bucket := int32(1); bucket <= 5; bucket++ {
		if n := counts[bucket]; n < 800 || n > 1200 { // 1000 expected, standard deviation 28
			t.Errorf("bucket %d has %d of 5000 users", bucket, n)
		}
	}
}

func TestBatchErrors(t *testing.T) {
	m, items := newModel(t, tiny()), catalogue(t, 20)
	fine, shape := example(2, "u", 1), Shape{Rows: 1, History: 3}
	wide := newItems(t, []uint32{0, 0, 0, 2}, []int{4, 3, 5, 3})
	short := newItems(t, []uint32{0, 0, 0}, []int{4, 3, 5})
	for what, run := range map[string]func() error{
		"too many rows": func() error { _, err := m.Batch(items, []network.Example{fine, fine}, shape, nil); return err },
		"no history":    func() error { _, err := m.Batch(items, []network.Example{fine}, Shape{Rows: 1}, nil); return err },
		"too much history": func() error {
			_, err := m.Batch(items, []network.Example{fine}, Shape{Rows: 1, History: 7}, nil)
			return err
		},
		"an unknown target": func() error {
			_, err := m.Batch(items, []network.Example{{Question: fine.Question, Target: 20}}, shape, nil)
			return err
		},
		"a negative target": func() error {
			_, err := m.Batch(items, []network.Example{{Question: fine.Question, Target: -1}}, shape, nil)
			return err
		},
		"an unknown item":     func() error { _, err := m.Batch(items, []network.Example{example(1, "u", 20)}, shape, nil); return err },
		"a larger vocabulary": func() error { _, err := m.Batch(wide, []network.Example{example(0, "")}, shape, nil); return err },
		"shorter IDs":         func() error { _, err := m.Batch(short, []network.Example{example(0, "")}, shape, nil); return err },
	} {
		if run() == nil {
			t.Errorf("%s: no error", what)
		}
	}
	for what, run := range map[string]func() error{} {
		if run() == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// Padding after a history does not matter, neither its length nor its content,
// nor do the other rows.
func TestPaddingDoesNotMatter(t *testing.T) {
	for name, c := range variants() {
		m, items := newModel(t, c), catalogue(t, 20)
		own := example(4, "u", 3, 1)
		others := []network.Example{example(9, "v", 8, 9, 10, 11), own, example(7, "w")}
		set := opinionated(m)
		score := func(inputs []*tensors.Tensor) []float32 {
			return evaluate(t, set, inputs, func(v weights.Vars, in []*graph.Node) []*graph.Node { return []*graph.Node{m.score(v, in)} })[0]
		}
		alone := score(newBatch(t, m, items, []network.Example{own}, Shape{Rows: 1, History: 2}))[0]
		inputs := newBatch(t, m, items, others, Shape{Rows: 4, History: 6})
		together := score(inputs)
		if math.Abs(float64(alone-together[1])) > 1e-5 {
			t.Errorf("%s: score %g alone, %g with others and more room", name, alone, together[1])
		}
		tokens := flat[int32](t, inputs[0])
		for i, length := range flat[int32](t, inputs[1]) {
			for j := int(length); j < m.places(6); j++ {
				tokens[i*m.places(6)+j] = int32(1 + (i+j)%(m.vocab.Tokens-1))
			}
		}
		inputs[0] = tensors.FromFlatDataAndDimensions(tokens, 4, m.places(6))
		if filled := score(inputs); !slices.Equal(filled[:3], together[:3]) {
			t.Errorf("%s: scores %v, with other padding %v", name, together[:3], filled[:3])
		}
	}
}
