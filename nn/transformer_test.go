package nn

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// small is a stack in which no two sizes are equal.
func small(positions, norm, activation string) Transformer {
	return Transformer{Layers: 2, Width: 6, Heads: 2, HeadDim: 4, FeedForward: 7, Activation: activation, Norm: norm,
		Positions: positions, Length: 5, Buckets: 6, Distance: 4}
}

// stacks are combinations that cover every option.
var stacks = []Transformer{small("relative", "rms", "relu"), small("absolute", "layer", "gelu"), small("none", "rms", "gelu")}

func TestEncoder(t *testing.T) {
	for _, c := range stacks {
		e := Encoder{c}
		rng := weights.Rand(1, "encoder")
		in := asInputs(e.Init(rng), 0.1)
		in["x"] = gaussian(rng, 2, 5, 6)
		lengths := []int{3, 5}
		checkSequences(t, c.Positions, in, func(nodes map[string]*graph.Node) *graph.Node {
			return e.Build(weights.FromNodes(nodes), nodes["x"], lengthsNode(nodes["x"].Graph(), lengths), nil)
		}, func(in gradtest.Inputs) sequences {
			return asSequences(in["x"]).transformer(variables{in: in}, c, lengths, nil)
		})
	}
}

func TestDecoder(t *testing.T) {
	for _, c := range stacks {
		d := Decoder{c}
		rng := weights.Rand(1, "decoder")
		in := asInputs(d.Init(rng), 0.1)
		in["x"], in["memory"] = gaussian(rng, 2, 3, 6), gaussian(rng, 2, 4, 6)
		lengths := []int{4, 2}
		checkSequences(t, c.Positions, in, func(nodes map[string]*graph.Node) *graph.Node {
			return d.Build(weights.FromNodes(nodes), nodes["x"], nodes["memory"], lengthsNode(nodes["x"].Graph(), lengths), nil)
		}, func(in gradtest.Inputs) sequences {
			memory := asSequences(in["memory"])
			return asSequences(in["x"]).transformer(variables{in: in}, c, lengths, &memory)
		})
	}
}

// Steps, one vector at a time and several sequences a memory, equal the full
// pass.
func TestDecoderStepsEqualTheFullPass(t *testing.T) {
	const batch, beams, count = 3, 4, 5
	for _, c := range stacks {
		d := Decoder{c}
		rng := weights.Rand(1, "steps")
		in := asInputs(d.Init(rng), 0.1)
		in["x"], in["memory"] = gaussian(rng, batch*beams, count, 6), gaussian(rng, batch, 7, 6)
		got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			v, x, memory := weights.FromNodes(nodes), nodes["x"], nodes["memory"]
			lengths := lengthsNode(x.Graph(), []int{7, 2, 5})
			repeated := lengthsNode(x.Graph(), []int{7, 7, 7, 7, 2, 2, 2, 2, 5, 5, 5, 5})
			each := graph.BroadcastToDims(graph.ExpandAxes(memory, 1), batch, beams, 7, 6)
			full := d.Build(v, x, graph.Reshape(each, batch*beams, 7, 6), repeated, nil)

			remembered := d.Remember(v, memory)
			var past []KeyValues
			var steps []*graph.Node
			for i := range count {
				var y *graph.Node
				one := graph.Reshape(graph.Slice(x, graph.AxisRange(), graph.AxisRange(i, i+1)), batch*beams, 6)
				y, past = d.Step(v, one, past, remembered, lengths)
				steps = append(steps, graph.ExpandAxes(y, 1))
			}
			return []*graph.Node{full, graph.Concatenate(steps, 1)}
		})
		gradtest.Close(t, c.Positions, got[1], got[0], 1e-6)
	}
}

// In bfloat16 both stacks give float32 vectors and float32 gradients near those
// of float32.
func TestTransformerInBFloat16(t *testing.T) {
	halfEverywhere = true
	defer func() { halfEverywhere = false }()
	c := Transformer{Layers: 2, Width: 32, Heads: 2, HeadDim: 16, FeedForward: 64, Activation: "relu", Norm: "rms", Positions: "relative"}
	set := weights.Set{}.Merge("encoder", Encoder{c}.Init(weights.Rand(1, "e"))).Merge("decoder", Decoder{c}.Init(weights.Rand(1, "d")))
	in := asInputs(set, 0.02)
	in["x"], in["y"] = gaussian(weights.Rand(2, "x"), 2, 9, 32), gaussian(weights.Rand(2, "y"), 2, 4, 32)
	run := func(dtype dtypes.DType) [][]float64 {
		c := c
		c.DType = dtype
		return gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			v := weights.FromNodes(nodes)
			lengths := lengthsNode(nodes["x"].Graph(), []int{9, 5})
			memory := Encoder{c}.Build(v.In("encoder"), nodes["x"], lengths, nil)
			y := Decoder{c}.Build(v.In("decoder"), nodes["y"], memory, lengths, nil)
			if memory.DType() != dtypes.Float32 || y.DType() != dtypes.Float32 {
				t.Errorf("the memory is %s and the output %s", memory.DType(), y.DType())
			}
			first, bias := v.Get("encoder/layer0/self/key"), v.Get("encoder/positions/bias")
			return append([]*graph.Node{y}, graph.Gradient(graph.ReduceAllMean(graph.Square(graph.AddScalar(y, 1))), first, bias)...)
		})
	}
	want, got := run(dtypes.InvalidDType), run(dtypes.BFloat16)
	for i, what := range []string{"output", "gradient of the first keys", "gradient of the position bias"} {
		gradtest.Close(t, what, got[i], want[i], 0.08)
		if gradtest.RelativeError(got[i], want[i]) == 0 {
			t.Errorf("%s: bfloat16 changed nothing, so it was not used", what)
		}
	}
}

// Dropout changes a training pass, differently for every state, and its
// expectation is near the pass without.
func TestTransformerDropsOut(t *testing.T) {
	c := small("relative", "rms", "relu")
	c.Dropout = 0.2
	rng := weights.Rand(1, "dropping")
	in := asInputs(Decoder{c}.Init(rng), 0.1)
	in["x"], in["memory"] = gaussian(rng, 2, 3, 6), gaussian(rng, 2, 4, 6)
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		build := func(random *Random) *graph.Node {
			return Decoder{c}.Build(weights.FromNodes(nodes), nodes["x"], nodes["memory"], nil, random)
		}
		seeded := func(seed int64) *Random { return NewRandom(graph.RNGStateFromSeedForGraph(nodes["x"].Graph(), seed)) }
		return []*graph.Node{build(nil), build(seeded(1)), build(seeded(1)), build(seeded(2))}
	})
	if gradtest.RelativeError(got[1], got[2]) != 0 {
		t.Error("one seed gives two results")
	}
	for _, pair := range [][2]int{{0, 1}, {0, 3}, {1, 3}} {
		if e := gradtest.RelativeError(got[pair[0]], got[pair[1]]); e < 0.05 || e > 2 {
			t.Errorf("passes %v differ by %g", pair, e)
		}
	}
}

// Without layers a stack is its norm between two dropouts: at a rate of one half
// three quarters of the columns are zero.
func TestTransformerDropsInputAndOutput(t *testing.T) {
	c := Transformer{Width: 50, Norm: "rms", Positions: "none", Dropout: 0.5}
	in := asInputs(Encoder{c}.Init(weights.Rand(1, "")), 0)
	in["x"] = gaussian(weights.Rand(1, "ends"), 40, 2, 50)
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		v, x := weights.FromNodes(nodes), nodes["x"]
		random := NewRandom(graph.RNGStateFromSeedForGraph(x.Graph(), 1))
		return []*graph.Node{Encoder{c}.Build(v, x, nil, random), Decoder{c}.Build(v, x, x, nil, random)}
	})
	for i, name := range []string{"encoder", "decoder"} {
		zeros := 0
		for _, y := range got[i] {
			if y == 0 {
				zeros++
			}
		}
		// Of 2000 columns: five standard deviations are 0.05.
		if share := float64(zeros) / float64(len(got[i])); share < 0.7 || share > 0.8 {
			t.Errorf("%s: %g of the values are zero", name, share)
		}
	}
}

func TestAbsolutePositionsEnd(t *testing.T) {
	e := Encoder{small("absolute", "rms", "relu")}
	in := asInputs(e.Init(weights.Rand(1, "")), 0)
	in["x"] = gaussian(weights.Rand(1, ""), 1, 6, 6)
	gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a sequence of 6 fitted into 5 positions")
				}
			}()
			e.Build(weights.FromNodes(nodes), nodes["x"], nil, nil)
		}()
		return []*graph.Node{nodes["x"]}
	})
}
