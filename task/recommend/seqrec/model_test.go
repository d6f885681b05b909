package seqrec

import (
	"math"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

func TestConfigIsStrictYAML(t *testing.T) {
	c := Default()
	text, err := config.Render(c)
	if err != nil {
		t.Fatal(err)
	}
	back := Config{}
	if err := config.Decode(text, &back); err != nil || back != c {
		t.Errorf("%v: %+v came back as %+v", err, c, back)
	}
	if err := config.Decode([]byte("layer: 2\n"), &c); err == nil || !strings.Contains(err.Error(), "layers") {
		t.Errorf("a misspelt key gives %v", err)
	}
}

func TestValidate(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	for key, change := range map[string]func(c *Config){
		"model.layers":       func(c *Config) { c.Layers = 0 },
		"model.head_dim":     func(c *Config) { c.HeadDim = -1 },
		"model.user_buckets": func(c *Config) { c.UserBuckets = 0 },
		"model.activation":   func(c *Config) { c.Activation = "step" },
		"model.norm":         func(c *Config) { c.Norm = "batch" },
		"model.positions":    func(c *Config) { c.Positions = "" },
		"model.precision":    func(c *Config) { c.Precision = "f64" },
		"model.dropout":      func(c *Config) { c.Dropout = 1 },
		"model.smoothing":    func(c *Config) { c.Smoothing = math.NaN() },
	} {
		c := Default()
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), key) {
			t.Errorf("%s: got %v", key, err)
		}
	}
	for _, vocab := range [][]int{nil, {3, 0}, {1 << 30, 1 << 30, 1 << 30}} {
		if _, err := New(Default(), vocab, false); err == nil {
			t.Errorf("a vocabulary of %v was accepted", vocab)
		}
	}
}

// The paper's network over four levels of 256 codes.
func TestPaperSize(t *testing.T) {
	m, err := New(Default(), []int{256, 256, 256, 256}, false)
	if err != nil {
		t.Fatal(err)
	}
	// Tokens 1 + 2000 + 1024; blocks of attention 4·128·384, feed-forward
	// 2·128·1024 and norms of 128; two tables of 32 buckets for 6 heads.
	attention, feed, norm := 4*128*384, 2*128*1024, 128
	want := 3025*128 + 4*(attention+feed+2*norm) + 4*(2*attention+feed+3*norm) + 2*norm + 2*32*6
	if got := m.Init(1).Count(); got != want {
		t.Errorf("%d parameters, want %d", got, want)
	}
}

// The probabilities of all IDs there are add up to one.
func TestScoresAreAProbability(t *testing.T) {
	for name, c := range variants() {
		m := newModel(t, c)
		var codes []uint32
		for i := range 4 * 3 * 5 * 2 {
			codes = append(codes, uint32(i/30), uint32(i/10%3), uint32(i/2%5), uint32(i%2))
		}
		items := newItems(t, codes, tinyVocab)
		set := opinionated(m)
		for _, q := range []network.Question{{Name: "a"}, {Name: "b", History: []int32{7, 50, 7}}} {
			total, largest := 0.0, 0.0
			for _, score := range scoreAll(t, m, set, items, q) {
				total += math.Exp(float64(score))
				largest = max(largest, math.Exp(float64(score)))
			}
			if math.Abs(total-1) > 1e-5 || largest < 0.02 {
				t.Errorf("%s: the probabilities of all IDs add up to %g, the largest is %g", name, total, largest)
			}
		}
	}
}

// Without smoothing the loss is the mean negative log-probability a code; with
// it, a share of the mean over all codes. Rows that fill up do not count.
func TestLoss(t *testing.T) {
	for _, smoothing := range []float64{0, 0.2} {
		c := tiny()
		c.Smoothing = smoothing
		m, items := newModel(t, c), catalogue(t, 20)
		examples := []network.Example{example(4, "u", 1, 2, 3), example(9, "v"), example(19, "w", 19, 0)}
		inputs := newBatch(t, m, items, examples, Shape{Rows: 5, History: 6})
		got := evaluate(t, opinionated(m), inputs, func(v weights.Vars, in []*graph.Node) []*graph.Node {
			return append([]*graph.Node{m.Loss(v, in, nil), m.score(v, in)}, m.logProbabilities(v, in[0], in[1], in[2], nil, nil)...)
		})
		want, scores := 0.0, 0.0
		for i, e := range examples {
			scores += float64(got[1][i])
			for position, vocab := range tinyVocab {
				row := got[2+position][i*vocab : (i+1)*vocab]
				want -= (1 - smoothing) * float64(row[items.ID(e.Target)[position]])
				for _, logp := range row {
					want -= smoothing / float64(vocab) * float64(logp)
				}
			}
		}
		want /= float64(len(examples) * len(tinyVocab))
		if loss := float64(got[0][0]); math.Abs(loss-want) > 1e-5*want {
			t.Errorf("smoothing %g: loss %g, want %g", smoothing, loss, want)
		}
		if smoothing == 0 && math.Abs(want+scores/12) > 1e-5*want {
			t.Errorf("the loss %g is not the mean of the scores, %g", want, -scores/12)
		}
	}
}

// Every variable's gradient agrees with a finite difference along a random
// direction, in float64.
func TestLossGradients(t *testing.T) {
	for name, c := range variants() {
		c.Smoothing = 0.1
		m, items := newModel(t, c), catalogue(t, 20)
		inputs := newBatch(t, m, items, []network.Example{example(4, "u", 1, 2), example(9, "v", 8, 9, 10)}, Shape{Rows: 2, History: 3})
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
			g := nodes["tokens/table"].Graph()
			batch := constants(g, inputs)
			batch[3] = graph.ConvertDType(batch[3], nodes["tokens/table"].DType())
			loss := func(v weights.Vars) *graph.Node { return m.Loss(v, batch, nil) }
			var variables, out []*graph.Node
			for _, p := range set.Paths() {
				variables = append(variables, nodes[p])
			}
			for i, gradient := range graph.Gradient(loss(weights.FromNodes(nodes)), variables...) {
				p := set.Paths()[i]
				along := graph.ReduceAllSum(graph.Mul(gradient, nodes["direction/"+p]))
				moved := func(by float64) *graph.Node {
					return loss(weights.NewVars(func(path string) *graph.Node {
						if path == p {
							return graph.Add(nodes[p], graph.MulScalar(nodes["direction/"+p], by))
						}
						return nodes[path]
					}))
				}
				out = append(out, along, graph.DivScalar(graph.Sub(moved(step), moved(-step)), 2*step))
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

// constants are the tensors of a batch as nodes.
func constants(g *graph.Graph, inputs []*tensors.Tensor) []*graph.Node {
	nodes := make([]*graph.Node, len(inputs))
	for i, x := range inputs {
		nodes[i] = graph.ConstTensor(g, x)
	}
	return nodes
}

// Dropout needs a source, and changes the loss with its state.
func TestLossDropsOutInTrainingOnly(t *testing.T) {
	c := tiny()
	c.Dropout = 0.3
	m, items := newModel(t, c), catalogue(t, 20)
	inputs := newBatch(t, m, items, []network.Example{example(4, "u", 1, 2)}, Shape{Rows: 1, History: 3})
	got := evaluate(t, m.Init(1), inputs, func(v weights.Vars, in []*graph.Node) []*graph.Node {
		seeded := func(seed int64) *nn.Random { return nn.NewRandom(graph.RNGStateFromSeedForGraph(in[0].Graph(), seed)) }
		return []*graph.Node{m.Loss(v, in, nil), m.Loss(v, in, nil), m.Loss(v, in, seeded(1)), m.Loss(v, in, seeded(1)), m.Loss(v, in, seeded(2))}
	})
	if got[0][0] != got[1][0] || got[2][0] != got[3][0] {
		t.Errorf("one state gives several losses: %v", got)
	}
	if got[0][0] == got[2][0] || got[2][0] == got[4][0] {
		t.Errorf("dropout changes nothing: %v", got)
	}
}

// In bfloat16 the loss is near that of float32, and the same on the embedded
// engine, which does not compute in it.
func TestLossInBFloat16(t *testing.T) {
	c := tiny()
	items := catalogue(t, 20)
	losses := map[string]float64{}
	for _, c.Precision = range []string{"f32", "bf16"} {
		m := newModel(t, c)
		inputs := newBatch(t, m, items, []network.Example{example(4, "u", 1, 2)}, Shape{Rows: 1, History: 3})
		losses[c.Precision] = float64(evaluate(t, m.Init(1), inputs, func(v weights.Vars, in []*graph.Node) []*graph.Node {
			return []*graph.Node{m.Loss(v, in, nil)}
		})[0][0])
	}
	embedded := !weights.Compiles(gradtest.Engine(t))
	if off := math.Abs(losses["bf16"]-losses["f32"]) / losses["f32"]; (off == 0) != embedded || off > 0.02 {
		t.Errorf("losses %v", losses)
	}
}
