package twotower

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// plainLoss is the in-batch softmax as its definition reads.
func plainLoss(queries, items, shares, rivals []float64, batch, width int) float64 {
	loss := 0.0
	for b := range batch {
		total, own := 0.0, 0.0
		for j := range batch {
			s := 0.0
			for k := range width {
				s += queries[b*width+k] * items[j*width+k]
			}
			if shares != nil {
				s -= shares[j]
			}
			if j == b {
				own = s
			}
			if rivals[b*batch+j] == 1 {
				total += math.Exp(s)
			}
		}
		loss -= (own - math.Log(total)) / float64(batch)
	}
	return loss
}

// The loss and its gradients equal the definition, with and without the
// correction for popularity, in a batch where some items are not to be beaten.
func TestInBatchLoss(t *testing.T) {
	const batch, width = 5, 3
	rng := weights.Rand(1, "loss")
	normal := func(shape ...int) gradtest.Value {
		v := gradtest.Value{Shape: shape}
		for range weights.New(shape...).Data {
			v.Data = append(v.Data, rng.NormFloat64())
		}
		return v
	}
	in := gradtest.Inputs{"queries": normal(batch, width), "items": normal(batch, width), "shares": normal(batch)}
	rivals := make([]float64, batch*batch)
	for i := range rivals {
		rivals[i] = 1
	}
	rivals[0*batch+3], rivals[3*batch+0], rivals[2*batch+4] = 0, 0, 0
	for _, corrected := range []bool{true, false} {
		shares := func(x []float64) []float64 {
			if corrected {
				return x
			}
			return nil
		}
		build := func(nodes map[string]*graph.Node) *graph.Node {
			mask := graph.Reshape(graph.Const(nodes["items"].Graph(), rivals), batch, batch)
			if corrected {
				return inBatchLoss(nodes["queries"], nodes["items"], nodes["shares"], mask, nil)
			}
			return inBatchLoss(nodes["queries"], nodes["items"], nil, mask, nil)
		}
		plain := func(in gradtest.Inputs) float64 {
			return plainLoss(in["queries"].Data, in["items"].Data, shares(in["shares"].Data), rivals, batch, width)
		}
		got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node { return []*graph.Node{build(nodes)} })[0][0]
		if want := plain(in); math.Abs(got-want) > 1e-12 {
			t.Errorf("corrected %t: loss %.15g, want %.15g", corrected, got, want)
		}
		for name, gradient := range gradtest.Autodiff[float64](t, in, build) {
			gradtest.Close(t, name, gradient, gradtest.FiniteDifference(in, name, plain), 1e-7)
		}
	}
}

// Huge scores, as a cold temperature makes them, stay finite.
func TestInBatchLossOfHugeScores(t *testing.T) {
	in := gradtest.Inputs{"queries": {Shape: []int{2, 1}, Data: []float64{1e4, -1e4}}, "items": {Shape: []int{2, 1}, Data: []float64{3, 1}}}
	build := func(nodes map[string]*graph.Node) *graph.Node {
		scores := graph.Dot(nodes["queries"], nodes["items"]).General([]int{1}, nil, []int{1}, nil)
		return inBatchLoss(nodes["queries"], nodes["items"], nil, graph.OnesLike(scores), nil)
	}
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node { return []*graph.Node{build(nodes)} })[0][0]
	if got != 0 { // each query's own item is ahead by 20,000
		t.Errorf("the loss is %g", got)
	}
	for name, gradient := range gradtest.Autodiff[float32](t, in, build) {
		for _, x := range gradient {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Errorf("the gradient of %s is %v", name, gradient)
			}
		}
	}
}

// The loss of a model is the definition's over the vectors of its towers.
func TestLossJoinsTheTowers(t *testing.T) {
	for name, kind := range variants() {
		m := newModel(t, kind.config, kind.reads)
		items := catalogue(t, 20)
		examples := []network.Example{example(4, 1, 2, 3), example(9), example(4, 19, 0)}
		set := m.Init(1)
		got := evaluate(t, set, newBatch(t, m, items, examples, -3, -1, -3), func(v weights.Vars, in []*graph.Node) []*graph.Node {
			return []*graph.Node{m.Loss(v, in, nil), m.queryVectors(v, query{tokens: in[0], lengths: in[1]}, nil), m.itemVectors(v, in[2], nil, nil)}
		})
		wide := func(x []float32, by float64) []float64 {
			out := make([]float64, len(x))
			for i, v := range x {
				out[i] = float64(v) / by
			}
			return out
		}
		shares := []float64{-3, -1, -3}
		if !m.Config.Popularity {
			shares = nil
		}
		rivals := []float64{1, 1, 0, 1, 1, 1, 0, 1, 1} // the first and the last have the same target
		want := plainLoss(wide(got[1], m.Config.startTemperature()), wide(got[2], 1), shares, rivals, 3, m.Config.Width)
		if loss := float64(got[0][0]); math.Abs(loss-want) > 1e-5*math.Max(1, want) {
			t.Errorf("%s: loss %g, want %g", name, loss, want)
		}
		if m.Config.Similarity == "cosine" {
			for _, vectors := range got[1:] {
				for i := range 3 {
					row := wide(vectors[i*8:(i+1)*8], 1)
					if length := plainLength(row); math.Abs(length-1) > 1e-5 {
						t.Errorf("%s: a vector of length %g", name, length)
					}
				}
			}
		}
	}
}

func plainLength(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// Every variable's gradient agrees with a finite difference along a random
// direction, in float64.
func TestModelGradients(t *testing.T) {
	for name, kind := range variants() {
		m := newModel(t, kind.config, kind.reads)
		items := catalogue(t, 20)
		inputs := newBatch(t, m, items, []network.Example{example(4, 1, 2), example(9, 8, 9, 10), example(2, 7)}, -2, -1, -4)
		in, rng := gradtest.Inputs{}, weights.Rand(1, name)
		set := m.Init(1)
		for _, p := range set.Paths() {
			v, d := gradtest.Value{Shape: set[p].Shape}, gradtest.Value{Shape: set[p].Shape}
			for _, x := range set[p].Data {
				v.Data, d.Data = append(v.Data, float64(x)), append(d.Data, rng.NormFloat64())
			}
			in[p], in["direction/"+p] = v, d
		}
		const step = 1e-5
		got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			table := nodes["tokens/table"]
			batch := make([]*graph.Node, len(inputs))
			for i, x := range inputs {
				batch[i] = graph.ConstTensor(table.Graph(), x)
			}
			loss := func(v weights.Vars) *graph.Node { return m.Loss(v, batch, nil) }
			var variables, out []*graph.Node
			for _, p := range set.Paths() {
				variables = append(variables, nodes[p])
			}
			for i, gradient := range graph.Gradient(loss(weights.FromNodes(nodes)), variables...) {
				p := set.Paths()[i]
				moved := func(by float64) *graph.Node {
					return loss(weights.NewVars(func(path string) *graph.Node {
						if path == p {
							return graph.Add(nodes[p], graph.MulScalar(nodes["direction/"+p], by))
						}
						return nodes[path]
					}))
				}
				out = append(out, graph.ReduceAllSum(graph.Mul(gradient, nodes["direction/"+p])),
					graph.DivScalar(graph.Sub(moved(step), moved(-step)), 2*step))
			}
			return out
		})
		for i, p := range set.Paths() {
			if a, b := got[2*i][0], got[2*i+1][0]; math.Abs(a-b) > 1e-6*math.Max(1, math.Abs(b)) || a == 0 {
				t.Errorf("%s: along a direction of %s the gradient is %g, the difference %g", name, p, a, b)
			}
		}
	}
}

// Dropout needs a source, and changes the loss with its state.
func TestLossDropsOutInTrainingOnly(t *testing.T) {
	c := tiny()
	c.Dropout = 0.3
	m := newModel(t, c, Histories)
	inputs := newBatch(t, m, catalogue(t, 20), []network.Example{example(4, 1, 2), example(5, 3)})
	got := evaluate(t, m.Init(1), inputs, func(v weights.Vars, in []*graph.Node) []*graph.Node {
		seeded := func(seed int64) *nn.Random { return nn.NewRandom(graph.RNGStateFromSeedForGraph(in[0].Graph(), seed)) }
		return []*graph.Node{m.Loss(v, in, nil), m.Loss(v, in, seeded(1)), m.Loss(v, in, seeded(1)), m.Loss(v, in, seeded(2))}
	})
	if got[1][0] != got[2][0] || got[0][0] == got[1][0] || got[1][0] == got[3][0] {
		t.Errorf("losses without dropout, twice with one state and with another: %v", got)
	}
}
