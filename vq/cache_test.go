package vq

import (
	"fmt"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

// cached returns the fixture with and without a cache over the same variables,
// the cache filled with the usable codes.
func cached(t *testing.T, kind transform.Kind, gradient string) (with, without fixture) {
	c := small(t, "grit", 2)
	c.Transform.Kind, c.Transform.RowNorm = kind, transform.RowNormGain
	c.Loss.Codebook, c.Loss.Commitment = 1, 0.25
	without = newFixture(t, c, 3, 4) // fewer rows than codes: rows are gathered live
	c.Cache = Cache{Period: 4, Gradient: gradient}
	with = newFixture(t, c, 3, 4)
	with.z = without.z
	for p, a := range without.set {
		with.set[p] = a
	}
	books := gradtest.Eval[float64](t, without.inputs(), func(in map[string]*graph.Node) []*graph.Node {
		return without.q.Codebooks(training(in))
	})
	with.exact = gradtest.Inputs{}
	for l, book := range books {
		with.exact[fmt.Sprintf("level%d/state/cache", l)] = gradtest.Value{Shape: []int{6, 3}, Data: book}
	}
	return with, without
}

// With a fresh cache, live mode finds the same codes and has the same gradients
// as no cache at all.
func TestLiveCacheMatchesNoCache(t *testing.T) {
	for _, kind := range kinds {
		with, without := cached(t, kind, "live")
		weight := random(newRand(8), 4, 3)
		got, want := gradients(t, with, weight, 1), gradients(t, without, weight, 1)
		for name := range want {
			gradtest.Close(t, string(kind)+" "+name, got[name], want[name], 1e-9)
		}
		for l := range 2 {
			if g := got[fmt.Sprintf("level%d/state/cache", l)]; dot(g, g) != 0 {
				t.Errorf("%s: the cache receives a gradient in live mode", kind)
			}
		}
	}
}

// A stale cache decides which code is chosen; its vector comes from the live
// parameters in live mode and from the cache in accumulate mode.
func TestStaleCacheChoosesCodes(t *testing.T) {
	for _, gradient := range []string{"live", "accumulate"} {
		with, _ := cached(t, transform.KindLinear, gradient)
		cache := matrix{with.exact["level0/state/cache"].Data, 3}
		for i := range cache.data {
			cache.data[i] += 50
		}
		copy(with.z.Data, cache.data) // latent i sits on cached code i, far from any live one
		got := with.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			out := with.q.Build(ctx, z)
			first := graph.Sub(out.Residuals[0], out.Residuals[1]) // the first level's code
			return []*graph.Node{out.Index, first, with.q.Codebooks(ctx)[0]}
		})
		for i := range 4 {
			if got[0][i*2] != float64(i) {
				t.Errorf("%s: latent %d chose code %v", gradient, i, got[0][i*2])
			}
			want := got[2][i*3 : (i+1)*3]
			if gradient == "accumulate" {
				want = cache.row(i)
			}
			gradtest.Close(t, gradient+" code", got[1][i*3:(i+1)*3], want, 1e-5)
		}
	}
}

// In accumulate mode all gradients of the codebook arrive at the cache, the
// usage regulariser's included, and Refresh carries them on to the parameters
// exactly as the direct path would.
func TestAccumulatedGradientReachesTheParameters(t *testing.T) {
	for _, kind := range kinds {
		with, without := cached(t, kind, "accumulate")
		for _, f := range []*fixture{&with, &without} {
			q := f.q.(*Residual)
			q.config.Loss.Usage, q.config.Loss.UsageThreshold = 0.5, 0.9
			q.levels[0] = codebook{position{q.config, q.layout.Dim}}
		}
		weight := random(newRand(8), 4, 3)
		first, want := gradients(t, with, weight, 1), gradients(t, without, weight, 1)
		gradtest.Close(t, string(kind)+" z", first["z"], want["z"], 1e-9)
		in := with.inputs()
		names := in.Names()
		collected := gradtest.Inputs{}
		for l := range 2 {
			path := fmt.Sprintf("level%d/state/cache", l)
			collected[path+"/g"] = gradtest.Value{Shape: []int{6, 3}, Data: first[path]}
		}
		for name, v := range in {
			collected[name] = v
		}
		values := gradtest.Eval[float64](t, collected, func(in map[string]*graph.Node) []*graph.Node {
			var loss *graph.Node
			for path, book := range Refresh(with.q, training(in)) {
				term := graph.ReduceAllSum(graph.Mul(book, in[path+"/g"]))
				if loss == nil {
					loss = term
				} else {
					loss = graph.Add(loss, term)
				}
			}
			wrt := make([]*graph.Node, len(names))
			for i, name := range names {
				wrt[i] = in[name]
			}
			return graph.Gradient(loss, wrt...)
		})
		for i, name := range names {
			if g := weights.GroupOf(name); g == weights.State || name == "z" {
				continue
			}
			if g := first[name]; dot(g, g) != 0 && weights.GroupOf(name) != weights.Radius {
				t.Errorf("%s: %s has a direct gradient beside the collected one", kind, name)
			}
			gradtest.Close(t, string(kind)+" "+name, values[i], want[name], 1e-9)
		}
	}
}

// Resets clear the gradients accumulated for the moved codes.
func TestResetForgetsCollectedGradients(t *testing.T) {
	with, _ := cached(t, transform.KindLinear, "accumulate")
	collected := with.set["level1/state/cache_gradient"]
	for i := range collected.Data {
		collected.Data[i] = 1
	}
	if _, err := Place(with.q, with.set, 1, []int{2}, []float32{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		want := float32(1)
		if i == 2 {
			want = 0
		}
		for _, g := range collected.Row(i) {
			if g != want {
				t.Errorf("row %d holds %g, want %g", i, g, want)
			}
		}
	}
}
