package nn

import (
	"fmt"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// A step of 28 sequences through 4 layers of width 128, with caches of several lengths.
func BenchmarkCausalStep(b *testing.B) {
	const rows = 28
	c := Causal{Transformer{Layers: 4, Width: 128, Heads: 4, HeadDim: 32, FeedForward: 512, Activation: "gelu", Norm: "layer",
		Positions: "absolute", Length: 256}}
	set := c.Init(weights.Rand(1, "bench"))
	for _, length := range []int{64, 128, 256} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			engine := gradtest.Engine(b)
			paths := set.Paths()
			step := graph.MustNewExec(engine, func(in []*graph.Node) []*graph.Node {
				nodes := map[string]*graph.Node{}
				for i, p := range paths {
					nodes[p] = in[2+2*c.Layers+i]
				}
				y, next := c.Step(weights.FromNodes(nodes), in[0], in[1], Pair(in[2:2+2*c.Layers]))
				return append([]*graph.Node{y}, Flatten(next)...)
			})
			var fixed []any
			for _, p := range paths {
				fixed = append(fixed, tensors.FromFlatDataAndDimensions(set[p].Data, set[p].Shape...))
			}
			x := tensors.FromFlatDataAndDimensions(weights.Normal(weights.Rand(1, "x"), 1, rows, c.Width).Data, rows, c.Width)
			var caches []*tensors.Tensor
			for range 2 * c.Layers {
				caches = append(caches, tensors.FromFlatDataAndDimensions(make([]float32, rows*128*length), c.CacheDims(engine, rows, length)...))
			}
			at := 0
			run := func() {
				args := []any{x, int32(at % length)}
				for _, cache := range caches {
					d, err := graph.DonateTensorBuffer(cache, engine, 0)
					if err != nil {
						b.Fatal(err)
					}
					args = append(args, d)
				}
				out := step.MustCall(append(args, fixed...)...)
				out[0].MustFinalizeAll()
				caches = out[1:]
				at++
			}
			run()
			for b.Loop() {
				run()
			}
		})
	}
}
