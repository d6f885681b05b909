package vq

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// Latents of a half-precision model are quantized in float32: codes, hard output
// and loss are those of the same numbers held in float32, to the bit. Only what
// goes back to the model, the surrogate and the latents' gradient, is rounded.
func TestConformanceUnderHalfPrecision(t *testing.T) {
	const n = 20
	conforming(t, func(t *testing.T, c Config, dim int) {
		f := newFixture(t, c, dim, n)
		in := f.inputs()
		in["weight"] = random(newRand(4), n, dim)
		for _, half := range []dtypes.DType{dtypes.BFloat16, dtypes.Float16} {
			got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
				single := func(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.Float32) }
				narrow := graph.ConvertDType(nodes["z"], half)
				wide := single(narrow)
				var results []*graph.Node
				for _, z := range []*graph.Node{narrow, wide} {
					out := f.q.Build(noisyStep(nodes, 2), z)
					total := graph.Add(graph.ReduceAllSum(graph.Mul(single(out.Soft), nodes["weight"])), out.Loss)
					gradient := graph.Gradient(total, z)[0]
					fixed := f.q.Build(&Context{Vars: weights.FromNodes(nodes)}, z)
					for what, x := range map[string]*graph.Node{"surrogate": out.Soft, "gradient": gradient, "decoder's input": fixed.Soft} {
						if x.DType() != z.DType() {
							t.Errorf("the %s of %s latents is %s", what, z.DType(), x.DType())
						}
					}
					for what, x := range map[string]*graph.Node{
						"hard output": out.Hard, "loss": out.Loss, "residual": out.Residuals[0], "prepared latent": Prepare(f.q, z),
					} {
						if x.DType() != dtypes.Float32 {
							t.Errorf("the %s of %s latents is %s", what, z.DType(), x.DType())
						}
					}
					rounded := func(x *graph.Node) *graph.Node { return single(graph.ConvertDType(x, half)) }
					results = append(results, out.Index, out.Hard, out.Loss, fixed.Index, fixed.Hard,
						rounded(out.Soft), rounded(fixed.Soft), rounded(gradient))
				}
				return results
			})
			for i, what := range []string{
				"codes in training", "hard output in training", "loss", "codes", "hard output", "surrogate", "decoder's input",
			} {
				sameBits(t, half.String()+" "+what, got[i], got[8+i])
			}
			// The adjoint of the surrogate is rounded on its way in as well.
			gradtest.Close(t, half.String()+" gradient", got[7], got[15], 0.02)
		}
	})
}
