package vq

import (
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

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

// Padding changes nothing. Whatever padded rows hold, the loss, the updates, the
// statistics and the gradients stay the same to the bit; and without noise, which
// is drawn by the row, they are those of the batch without padding.
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
