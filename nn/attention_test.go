package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// lengthsNode is a constant [B] of the engine's integers.
func lengthsNode(g *graph.Graph, lengths []int) *graph.Node {
	if lengths == nil {
		return nil
	}
	return constantRow(g, len(lengths), func(i int) int32 { return int32(lengths[i]) })
}

// checkSequences compares graph code over the named inputs with its reference
// and all its gradients with finite differences of the reference.
func checkSequences(t *testing.T, what string, in gradtest.Inputs,
	build func(nodes map[string]*graph.Node) *graph.Node, reference func(in gradtest.Inputs) sequences) {
	t.Helper()
	y := reference(in)
	got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{build(nodes)}
	})
	gradtest.Close(t, what, got[0], y.data, 1e-6) // the engine approximates erf
	in["g"] = gaussian(weights.Rand(5, "adjoint"), y.n, y.t, y.c)
	gradients := gradtest.Autodiff[float64](t, in, func(nodes map[string]*graph.Node) *graph.Node {
		return graph.ReduceAllSum(graph.Mul(build(nodes), nodes["g"]))
	})
	for _, p := range in.Names() {
		if p == "g" {
			continue
		}
		want := gradtest.FiniteDifference(in, p, func(in gradtest.Inputs) float64 {
			sum := 0.0
			for i, y := range reference(in).data {
				sum += y * in["g"].Data[i]
			}
			return sum
		})
		gradtest.Close(t, what+", gradient of "+p, gradients[p], want, 2e-6)
	}
}

// Values and gradients of attention, of a sequence to itself and to another.
func TestAttention(t *testing.T) {
	a := Attention{Width: 5, Heads: 2, HeadDim: 3}
	for what, c := range map[string]struct {
		sight
		queries, keys int
		bias          bool
	}{
		"plain":             {queries: 3, keys: 4},
		"biased":            {queries: 3, keys: 4, bias: true},
		"lengths":           {sight{lengths: []int{2, 4, 0}}, 3, 4, false},
		"causal":            {sight{causal: true}, 4, 4, true},
		"causal at the end": {sight{causal: true}, 2, 4, false},
		"both":              {sight{causal: true, lengths: []int{1, 3, 4}}, 4, 4, true},
		"one query":         {sight{causal: true}, 1, 3, true},
	} {
		rng := weights.Rand(1, what)
		in := asInputs(a.Init(rng), 0.1)
		in["x"], in["source"] = gaussian(rng, 3, c.queries, 5), gaussian(rng, 3, c.keys, 5)
		if c.bias {
			in["scores"] = gaussian(rng, 1, 2, c.queries, c.keys)
		}
		checkSequences(t, what, in, func(nodes map[string]*graph.Node) *graph.Node {
			mask := Mask{Lengths: lengthsNode(nodes["x"].Graph(), c.lengths), Causal: c.causal}
			view := a.View(nodes["x"], nodes["source"], mask, nodes["scores"])
			return a.Build(weights.FromNodes(nodes), nodes["x"], nodes["source"], view, nil)
		}, func(in gradtest.Inputs) sequences {
			return asSequences(in["x"]).attention(variables{in: in}, asSequences(in["source"]), a, c.sight, in["scores"].Data)
		})
	}
}

// Hidden keys and values have no influence and get gradients of exactly zero; a
// query that sees nothing gathers nothing. This
// must hold in float32, where the engine's vector exponentials round.
func TestMaskIsExact(t *testing.T) {
	const heads, keys, width = 2, 40, 16 // more keys than a vector of the engine
	lengths := []int{0, 1, 17, 40}
	rng := weights.Rand(1, "mask")
	in := gradtest.Inputs{}
	for _, name := range []string{"q", "k", "v", "g"} {
		in[name] = gaussian(rng, len(lengths), heads, keys, width)
	}
	run := func(causal bool) [][]float64 {
		return gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			mask := Mask{Lengths: lengthsNode(nodes["q"].Graph(), lengths), Causal: causal}
			view := NewView(nodes["q"], [4]int{len(lengths), heads, keys, keys}, mask, nil)
			y := attend(nodes["q"], nodes["k"], nodes["v"], view)
			loss := graph.ReduceAllSum(graph.Mul(y, nodes["g"]))
			return append([]*graph.Node{y}, graph.Gradient(loss, nodes["q"], nodes["k"], nodes["v"])...)
		})
	}
	each := func(visit func(n, key, at int)) {
		for i := range in["k"].Data {
			visit(i/(heads*keys*width), i/width%keys, i)
		}
	}
	for _, causal := range []bool{false, true} {
		want := run(causal)
		each(func(n, key, at int) {
			if key >= lengths[n] && (want[2][at] != 0 || want[3][at] != 0) {
				t.Fatalf("sequence %d of length %d: the gradients of key and value %d are %g and %g", n, lengths[n], key, want[2][at], want[3][at])
			}
			if lengths[n] == 0 && (want[0][at] != 0 || want[1][at] != 0) {
				t.Fatalf("without keys the result is %g and the gradient of the query %g", want[0][at], want[1][at])
			}
			if want[0][at] == 0 && lengths[n] > 0 || math.IsNaN(want[0][at]) {
				t.Fatalf("sequence %d of length %d gathers %g", n, lengths[n], want[0][at])
			}
		})
		each(func(n, key, at int) {
			if key >= lengths[n] {
				in["k"].Data[at], in["v"].Data[at] = 1e12, -1e15
			}
		})
		got := run(causal)
		for i := range want {
			for j := range want[i] {
				if got[i][j] != want[i][j] {
					t.Fatalf("hidden keys changed output %d from %g to %g", i, want[i][j], got[i][j])
				}
			}
		}
		each(func(n, key, at int) {
			if key >= lengths[n] {
				in["k"].Data[at], in["v"].Data[at] = float64(at%7), float64(at%5)
			}
		})
	}
	// No query sees the future: gradients of later keys and values are zero.
	gradients := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		view := NewView(nodes["q"], [4]int{len(lengths), heads, keys, keys}, Mask{Causal: true}, nil)
		y := attend(nodes["q"], nodes["k"], nodes["v"], view)
		early := graph.Slice(y, graph.AxisRange(), graph.AxisRange(), graph.AxisRange(0, 5))
		return graph.Gradient(graph.ReduceAllSum(graph.Square(early)), nodes["k"], nodes["v"])
	})
	each(func(_, key, at int) {
		if later := key >= 5; later != (gradients[1][at] == 0) || later && gradients[0][at] != 0 {
			t.Fatalf("the gradients of key and value %d are %g and %g", key, gradients[0][at], gradients[1][at])
		}
	})
}

// The buckets of T5: 32 in both directions, 128 places far.
func TestRelativePositionBuckets(t *testing.T) {
	both, back := RelativePositions{}, RelativePositions{Causal: true}
	// Bucket edges solved by hand from 8 + 8 ln(far/8)/ln(128/8) = n, that is
	// far = 8 · 2^((n-8)/2), and likewise 16 · 8^((n-16)/16) looking back alone.
	for ahead, want := range map[int]int{
		0: 0, -1: 1, -7: 7, -8: 8, -11: 8, -12: 9, -15: 9, -16: 10, -22: 10, -23: 11, -31: 11, -32: 12, -63: 13, -64: 14, -90: 14, -91: 15,
		-128: 15, -5000: 15,
		1: 17, 7: 23, 8: 24, 12: 25, 16: 26, 64: 30, 128: 31, 5000: 31,
	} {
		if got := both.Bucket(ahead); got != want {
			t.Errorf("a key %d ahead is in bucket %d, want %d", ahead, got, want)
		}
	}
	for ahead, want := range map[int]int{
		0: 0, 1: 0, 90: 0, -1: 1, -15: 15, -16: 16, -18: 16, -19: 17, -20: 17, -21: 18, -113: 31, -112: 30, -5000: 31,
	} {
		if got := back.Bucket(ahead); got != want {
			t.Errorf("looking back, a key %d ahead is in bucket %d, want %d", ahead, got, want)
		}
	}
}

// The bias is the table's entry of the bucket; queries are at the last keys.
func TestRelativePositions(t *testing.T) {
	p := RelativePositions{Heads: 2, Buckets: 8, Distance: 6, Scale: 1}
	in := asInputs(p.Init(weights.Rand(1, "positions")), 0.1)
	for _, queries := range []int{1, 3, 9} {
		const keys = 9
		got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			bias := p.Build(weights.FromNodes(nodes), nodes["bias"].Graph(), queries, keys)
			return append([]*graph.Node{bias}, graph.Gradient(graph.ReduceAllSum(bias), nodes["bias"])...)
		})
		counts := make([]float64, len(in["bias"].Data))
		for h := range 2 {
			for i := range queries {
				for j := range keys {
					at := p.Bucket(j-(keys-queries+i))*2 + h
					counts[at]++
					if value := got[0][(h*queries+i)*keys+j]; value != in["bias"].Data[at] {
						t.Fatalf("%d queries: bias %g at head %d, query %d, key %d, want %g", queries, value, h, i, j, in["bias"].Data[at])
					}
				}
			}
		}
		gradtest.Close(t, fmt.Sprint(queries, " queries: gradient of the table"), got[1], counts, 1e-12)
	}
}

// In half precision scores and softmax are float32: the weights of 200 equal
// keys add up to 1, which bfloat16 cannot count to.
func TestAttentionSoftmaxIsFloat32(t *testing.T) {
	in := gradtest.Inputs{"q": {Shape: []int{1, 1, 2, 4}, Data: make([]float64, 8)},
		"k": {Shape: []int{1, 1, 200, 4}, Data: make([]float64, 800)}}
	ones := gradtest.Value{Shape: []int{1, 1, 200, 4}, Data: make([]float64, 800)}
	for i := range ones.Data {
		ones.Data[i] = 1
	}
	in["v"] = ones
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		half := func(name string) *graph.Node { return graph.ConvertDType(nodes[name], dtypes.BFloat16) }
		y := attend(half("q"), half("k"), half("v"), View{})
		if y.DType() != dtypes.BFloat16 {
			t.Errorf("the result is %s", y.DType())
		}
		return []*graph.Node{graph.ConvertDType(y, dtypes.Float32)}
	})[0]
	for _, y := range got {
		if math.Abs(y-1) > 1.0/128 {
			t.Errorf("200 equal keys of value 1 gather %g", y)
		}
	}
}

// With a matrix in bfloat16, rounding the scale of the scores would scale all queries alike: 1/√3 by 1.0013.
func TestQueriesOfReducedPrecisionHaveTheirScale(t *testing.T) {
	a := Attention{Width: 64, Heads: 1, HeadDim: 3}
	rng := weights.Rand(1, "queries")
	in := gradtest.Inputs{"query": gaussian(rng, 64, 3), "x": gaussian(rng, 400, 1, 64)}
	out := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		half := weights.FromNodes(map[string]*graph.Node{"query": graph.ConvertDType(nodes["query"], dtypes.BFloat16)})
		rounded := a.queries(half, graph.ConvertDType(nodes["x"], dtypes.BFloat16))
		return []*graph.Node{a.queries(weights.FromNodes(nodes), nodes["x"]), graph.ConvertDType(rounded, dtypes.Float32)}
	})
	product, square := 0.0, 0.0
	for i, want := range out[0] {
		product, square = product+want*out[1][i], square+want*want
	}
	if ratio := product / square; math.Abs(ratio-1) > 6e-4 {
		t.Errorf("queries are scaled by %g", ratio)
	}
}
