package nn_test

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"
)

// Two sequences of tokens, the second of three alone, become vectors that know
// their sequence; a decoder reads them.
func ExampleEncoder() {
	tokens := nn.Embedding{Rows: 10, Width: 8}
	stack := nn.Transformer{Layers: 2, Width: 8, Heads: 2, HeadDim: 4, FeedForward: 16, Activation: "relu", Norm: "rms", Positions: "relative"}
	e, d := nn.Encoder{Transformer: stack}, nn.Decoder{Transformer: stack}
	rng := weights.Rand(1, "example")
	variables := weights.Set{}.Merge("tokens", tokens.Init(rng)).Merge("encoder", e.Init(rng)).Merge("decoder", d.Init(rng))

	x := tensors.FromValue([][]int32{{1, 2, 3, 4, 5}, {6, 7, 8, 0, 0}})
	y := run(variables, x, func(v weights.Vars, x *graph.Node) *graph.Node {
		lengths := graph.Const(x.Graph(), []int32{5, 3})
		memory := e.Build(v.In("encoder"), tokens.Build(v.In("tokens"), x), lengths, nil)
		start := graph.Zeros(x.Graph(), shapes.Make(dtypes.Float32, 2, 1, 8))
		return d.Build(v.In("decoder"), start, memory, lengths, nil)
	})
	fmt.Println(y.Shape())
	// Output:
	// (Float32)[2, 1, 8]
}

// A query that sees two keys, of which one is like it, gathers mostly the value
// of that one.
func ExampleAttention() {
	a := nn.Attention{Width: 2, Heads: 1, HeadDim: 2}
	variables := weights.Set{"query": weights.Eye(2), "key": weights.Eye(2), "value": weights.Eye(2), "output": weights.Eye(2)}
	source := tensors.FromValue([][][]float32{{{8, 0}, {0, 8}, {100, 100}}})
	y := run(variables, source, func(v weights.Vars, source *graph.Node) *graph.Node {
		x := graph.Const(source.Graph(), [][][]float32{{{0, 1}}})
		mask := nn.Mask{Lengths: graph.Const(source.Graph(), []int32{2})} // the last is padding
		return a.Build(v, x, source, a.View(x, source, mask, nil), nil)
	})
	fmt.Printf("%.2f\n", y.Value())
	// Output:
	// [[[0.03 7.97]]]
}
