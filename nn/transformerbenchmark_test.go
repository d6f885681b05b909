package nn

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// Value and gradients of a block of the paper's recommender: 16 users of 81
// tokens, width 128, six heads of 64 and 1024 hidden values.
func BenchmarkTransformer(b *testing.B) {
	c := Transformer{Layers: 1, Width: 128, Heads: 6, HeadDim: 64, FeedForward: 1024, Activation: "relu", Norm: "rms", Positions: "relative"}
	rng := weights.Rand(1, "bench")
	b.Run("encoder", func(b *testing.B) {
		set := Encoder{c}.Init(rng)
		set["x"], set["data"] = weights.Normal(rng, 1, 16, 81, 128), weights.Normal(rng, 1, 16, 81, 128)
		benchmark(b, set, func(nodes map[string]*graph.Node) *graph.Node {
			lengths := constantRow(nodes["x"].Graph(), 16, func(int) int32 { return 81 })
			return graph.ReduceAllSum(graph.Mul(Encoder{c}.Build(weights.FromNodes(nodes), nodes["x"], lengths, nil), nodes["data"]))
		})
	})
	b.Run("attention", func(b *testing.B) {
		set := weights.Set{}
		for _, name := range []string{"q", "k", "v", "data"} {
			set[name] = weights.Normal(rng, 1, 16, 6, 81, 64)
		}
		benchmark(b, set, func(nodes map[string]*graph.Node) *graph.Node {
			return graph.ReduceAllSum(graph.Mul(attend(nodes["q"], nodes["k"], nodes["v"], View{}), nodes["data"]))
		})
	})
}
