package vq

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// A training step of every method over 65536 codes, with the gradients of all
// that is trained, takes less than one array of a score for every latent and code
// would, and where all codes share in the choice, with their parameters' gradients
// through it, less than three. Written over such arrays that would take a dozen.
func TestConformanceOfMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const dim, codes = 4, 1 << 16
	for _, method := range MethodNames() {
		t.Run(method, func(t *testing.T) {
			n, arrays := 512, uint64(1)
			if slices.Contains(chosenMethods, method) {
				n, arrays = 256, 3
			}
			limit := arrays * uint64(n) * codes * 4
			c := mustDefaults(t, method)
			c.Codes, c.Levels, c.Parts, c.Start.From = codes, 1, 1, "data"
			f := newFixture(t, c, dim, n)
			in := f.inputs()
			trained := []string{"z"}
			for _, path := range f.set.Paths() {
				if group := weights.GroupOf(path); group != weights.State && !Frozen(f.q, group) {
					trained = append(trained, path)
				}
			}
			used := peak(func() {
				got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
					out := f.q.Build(noisyStep(nodes, 1), nodes["z"])
					loss := graph.Add(graph.ReduceAllSum(graph.Square(out.Soft)), out.Loss)
					return graph.Gradient(loss, nodesOf(nodes, trained)...)
				})
				for i, gradient := range got {
					if sum := dot(gradient, gradient); !(sum > 0) || math.IsInf(sum, 0) {
						t.Errorf("the gradient of %s has squared size %v", trained[i], sum)
					}
				}
			})
			t.Logf("%d MiB of %d", used>>20, limit>>20)
			if used > limit {
				t.Errorf("a step needs %d MiB, more than %d", used>>20, limit>>20)
			}
		})
	}
}

// withEveryLoss turns on all auxiliary losses that the method has.
func withEveryLoss(c Config, dim int) Config {
	for _, add := range []func(l *Loss){
		func(l *Loss) { l.Codebook = 0.7 },
		func(l *Loss) { l.Commitment = 0.3 },
		func(l *Loss) { l.Usage, l.UsageThreshold = 1, 0.9 },
	} {
		more := c
		add(&more.Loss)
		if more.Validate(dim) == nil {
			c = more
		}
	}
	return c
}

// stepResults is everything a training step computes from a batch, by name: gradients
// of latents and variables, outputs of the leading rows, the loss, statistics
// and updates.
func stepResults(t *testing.T, f fixture, mask []float64, used int, noisy bool) map[string][]float64 {
	t.Helper()
	in := f.inputs()
	names := in.Names()
	in["weight"] = random(newRand(4), used, f.z.Shape[1])
	if mask != nil {
		in["mask"] = gradtest.Value{Shape: []int{len(mask)}, Data: mask}
	}
	var results []string
	values := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		ctx := training(nodes)
		if noisy {
			ctx = noisyStep(nodes, 5)
		}
		ctx.Mask = nodes["mask"]
		out := f.q.Build(ctx, nodes["z"])
		leading := func(x *graph.Node) *graph.Node { return graph.Slice(x, graph.AxisRange(0, used)) }
		total := graph.Add(graph.ReduceAllSum(graph.Mul(leading(out.Soft), nodes["weight"])), out.Loss)
		results = append(slices.Clone(names), "soft", "hard", "codes", "loss")
		found := append(graph.Gradient(total, nodesOf(nodes, names)...), leading(out.Soft), leading(out.Hard), leading(out.Index), out.Loss)
		for _, name := range sortedKeys(out.Stats) {
			results, found = append(results, "statistic "+name), append(found, out.Stats[name])
		}
		for _, path := range sortedKeys(out.Updates) {
			results, found = append(results, "update of "+path), append(found, out.Updates[path])
		}
		return found
	})
	by := map[string][]float64{}
	for i, name := range results {
		by[name] = values[i]
	}
	return by
}

// Padding changes nothing. For any content of padded rows, the loss, the updates,
// the statistics and the gradients are the same to the bit; without noise, which
// is drawn by the row, they also equal the batch without padding.
func TestConformanceOfPadding(t *testing.T) {
	const used, all = 9, 13
	mask := slices.Concat(slices.Repeat([]float64{1}, used), make([]float64, all-used))
	conforming(t, func(t *testing.T, c Config, dim int) {
		f := newFixture(t, withEveryLoss(c, dim), dim, all)
		plain, other := f, f
		plain.z = gradtest.Value{Shape: []int{used, dim}, Data: f.z.Data[:used*dim]}
		other.z = gradtest.Value{Shape: f.z.Shape, Data: slices.Clone(f.z.Data)}
		for i := used * dim; i < all*dim; i++ {
			other.z.Data[i] = 3*other.z.Data[i] + 1
		}
		compare := func(got, want map[string][]float64, tolerance float64) {
			if len(got) != len(want) {
				t.Errorf("%d results with padding, %d without", len(got), len(want))
			}
			sameBits(t, "gradient of padding", got["z"][used*dim:], make([]float64, (all-used)*dim))
			got["z"], want["z"] = got["z"][:used*dim], want["z"][:used*dim]
			for what, value := range want {
				if tolerance == 0 {
					sameBits(t, what, got[what], value)
				} else {
					gradtest.Close(t, what, got[what], value, tolerance)
				}
			}
		}
		exact := 0.0
		if !gradtest.Embedded() {
			exact = 1e-12 // a GPU adds rows up in an order of its own
		}
		compare(stepResults(t, f, mask, used, true), stepResults(t, other, mask, used, true), exact)
		compare(stepResults(t, f, mask, used, false), stepResults(t, plain, nil, used, false), 1e-9)
	})
}

// Latents of a half-precision model are quantized in float32: codes, hard output
// and loss equal float32 latents of the same values, to the bit. Only the results
// that go back to the model, surrogate and latents' gradient, are rounded.
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
