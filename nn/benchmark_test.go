package nn

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// benchmark times a function of float32 inputs of the given shapes and all its
// gradients.
func benchmark(b *testing.B, inputs weights.Set, build func(nodes map[string]*graph.Node) *graph.Node) {
	b.Helper()
	paths := inputs.Paths()
	args := make([]any, len(paths))
	for i, p := range paths {
		args[i] = tensors.FromFlatDataAndDimensions(inputs[p].Data, inputs[p].Shape...)
	}
	step := graph.MustNewExec(gradtest.Engine(b), func(nodes []*graph.Node) []*graph.Node {
		named := map[string]*graph.Node{}
		var wrt []*graph.Node
		for i, p := range paths {
			named[p] = nodes[i]
			if p != "data" {
				wrt = append(wrt, nodes[i])
			}
		}
		return graph.Gradient(build(named), wrt...)
	})
	defer step.Finalize()
	run := func() {
		for _, gradient := range step.MustCall(args...) {
			gradient.MustFinalizeAll()
		}
	}
	run()
	for b.Loop() {
		run()
	}
}

// A 3 x 3 convolution of 8 images of 64 x 64, 32 -> 64 channels, with the
// gradients of image, kernel and bias.
func BenchmarkConv(b *testing.B) {
	for name, stride := range map[string]int{"stride1": 1, "stride2": 2} {
		b.Run(name, func(b *testing.B) {
			c := Conv{In: 32, Out: 64, Kernel: 3, Stride: stride}
			rng := weights.Rand(1, "bench")
			set := c.Init(rng)
			set["x"] = weights.Normal(rng, 1, 8, 64, 64, 32)
			set["data"] = weights.Normal(rng, 1, 8, 64/stride, 64/stride, 64)
			benchmark(b, set, func(nodes map[string]*graph.Node) *graph.Node {
				return graph.ReduceAllSum(graph.Mul(c.Build(weights.FromNodes(nodes), nodes["x"]), nodes["data"]))
			})
		})
	}
}

// Value and gradients of an autoencoder of 64 px pictures, batch 32.
func BenchmarkAutoencoder(b *testing.B) {
	for _, up := range UpsampleKinds {
		b.Run(up, func(b *testing.B) {
			e := ImageEncoder{Widths: []int{32, 64, 128}, Blocks: 1, Dim: 32}
			d := ImageDecoder{Widths: []int{32, 64, 128}, Blocks: 1, Dim: 32, Up: up}
			rng := weights.Rand(1, "bench")
			set := weights.Set{"data": weights.Normal(rng, 1, 32, 64, 64, 3)}
			set.Merge("encoder", e.Init(rng)).Merge("decoder", d.Init(rng))
			benchmark(b, set, func(nodes map[string]*graph.Node) *graph.Node {
				v := weights.FromNodes(nodes)
				y := d.Build(v.In("decoder"), e.Build(v.In("encoder"), nodes["data"]))
				return graph.ReduceAllMean(graph.Square(graph.Sub(y, nodes["data"])))
			})
		})
	}
}
