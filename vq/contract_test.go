package vq

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

// contracted are quantizers, by method, in the compositions that differ: with
// and without projections, residual and product.
func contracted(t *testing.T) map[string]Config {
	cases := map[string]Config{}
	for _, method := range []string{"simvq", "fsq", "lfq", "rqvae", "kmeans-ste"} {
		for _, levels := range []int{1, 3} {
			for _, parts := range []int{1, 2} {
				c := small(t, method, levels)
				c.Codes, c.Parts = 8, parts
				if method == "fsq" {
					c.Grid = []int{4, 3, 2}
				}
				cases[fmt.Sprintf("%s levels %d parts %d", method, levels, parts)] = c
			}
		}
	}
	return cases
}

// Training feeds the decoder the hard code, looking the codes up gives the same
// numbers bit for bit, inference chooses the same codes, and all are in range.
func TestChosenCodesAreWhatTheyDecodeTo(t *testing.T) {
	for name, c := range contracted(t) {
		for _, dim := range []int{3 * c.Parts, 5 * c.Parts} { // 3: what lfq and fsq code without projection
			f := newFixture(t, c, dim, 40)
			run := func() [][]float64 {
				return f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
					out := f.q.Build(ctx, z)
					still := *ctx
					still.Training = false
					fixed := f.q.Build(&still, z)
					return []*graph.Node{out.Hard, out.Soft, f.q.Lookup(ctx, out.Index), fixed.Hard, fixed.Soft, out.Index, fixed.Index, out.Loss}
				})
			}
			got := run()
			for _, i := range []int{1, 2, 3, 4} {
				bits(t, fmt.Sprintf("%s dim %d output %d", name, dim, i), got[i], got[0])
			}
			bits(t, name+" index", got[6], got[5])
			for i, other := range run() {
				bits(t, name+" again", other, got[i])
			}
			layout, seen := f.q.Layout(), map[float64]bool{}
			for i, code := range got[5] {
				if k := layout.Vocab[i%layout.Positions()]; code < 0 || code >= float64(k) {
					t.Fatalf("%s: code %v of %d", name, code, k)
				}
				seen[code] = true
			}
			if len(seen) < 4 {
				t.Errorf("%s: 40 latents use %d codes", name, len(seen))
			}
		}
	}
}

// Padding changes nothing: a batch with masked rows has the loss, the updates,
// the statistics and the gradients of the batch without them.
func TestMaskedRowsDoNotCount(t *testing.T) {
	const used, all = 9, 13
	for name, c := range contracted(t) {
		dim := 5 * c.Parts
		padded := newFixture(t, c, dim, all)
		plain := padded
		plain.z = gradtest.Value{Shape: []int{used, dim}, Data: padded.z.Data[:used*dim]}
		mask := gradtest.Value{Shape: []int{all}, Data: slices.Concat(slices.Repeat([]float64{1}, used), make([]float64, all-used))}
		weight := random(newRand(4), used, dim)
		run := func(f fixture, masked bool) map[string][]float64 {
			in := f.inputs()
			names := in.Names()
			in["weight"] = weight
			if masked {
				in["mask"] = mask
			}
			results := slices.Clone(names)
			values := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
				ctx := training(nodes)
				ctx.Mask = nodes["mask"]
				out := f.q.Build(ctx, nodes["z"])
				soft := graph.Slice(out.Soft, graph.AxisRange(0, used))
				total := graph.Add(graph.ReduceAllSum(graph.Mul(soft, nodes["weight"])), out.Loss)
				wrt := make([]*graph.Node, len(names))
				for i, name := range names {
					wrt[i] = nodes[name]
				}
				found := append(graph.Gradient(total, wrt...), out.Loss, out.Stats["gap"])
				results = append(results[:len(names)], "loss", "gap")
				for _, path := range slices.Sorted(func(yield func(string) bool) {
					for path := range out.Updates {
						if !yield(path) {
							return
						}
					}
				}) {
					results = append(results, "update of "+path)
					found = append(found, out.Updates[path])
				}
				return found
			})
			by := map[string][]float64{}
			for i, name := range results {
				by[name] = values[i]
			}
			return by
		}
		got, want := run(padded, true), run(plain, false)
		bits(t, name+" gradient of padding", got["z"][used*dim:], make([]float64, (all-used)*dim))
		got["z"] = got["z"][:used*dim]
		for what, value := range want {
			gradtest.Close(t, name+" "+what, got[what], value, 1e-9)
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d results with padding, %d without", name, len(got), len(want))
		}
	}
}

// Settings that speak of stored codes are refused where there are none.
func TestComputedCodesRefuseSettingsOfStoredOnes(t *testing.T) {
	for _, method := range []string{"simvq", "fsq", "lfq"} {
		for field, break_ := range map[string]func(c *Config){
			"quantizer.resets.every": func(c *Config) { c.Resets.Every = 10 },
			"quantizer.start.from":   func(c *Config) { c.Start.From = "kmeans" },
			"quantizer.learn":        func(c *Config) { c.Learn = "ema" },
			"quantizer.cache.period": func(c *Config) { c.Cache.Period = 2 },
			"quantizer.loss":         func(c *Config) { c.Loss.Usage = 1 },
		} {
			c := mustDefaults(t, method)
			break_(&c)
			mentions(t, c.Validate(8), field, method)
		}
	}
	for _, method := range []string{"fsq", "lfq"} {
		c := mustDefaults(t, method)
		c.Shared = true
		mentions(t, c.Validate(8), "quantizer.shared", method)
		f := newFixture(t, func() Config { c.Shared = false; return c }(), 4, 2)
		_, err := f.q.Place(f.set, 0, []int{0}, make([]float32, 4), transform.Reset)
		mentions(t, err, "cannot be moved")
		if f.q.Searchable() {
			t.Errorf("%s: codes are said to be the nearest ones", method)
		}
	}
}

// A training step over 65536 codes stays far below the [N,K] array of 256 MiB
// that a table of all choices would be, times the copies a gradient needs.
func TestManyCodesNeedLittleMemory(t *testing.T) {
	const n, dim, limit = 1024, 8, 700 << 20
	for _, method := range []string{"simvq", "fsq", "lfq"} {
		c := mustDefaults(t, method)
		c.Codes, c.Levels = 1<<16, 1
		f := newFixture(t, c, dim, n)
		used := peakMemory(func() {
			got := gradtest.Eval[float32](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
				out := f.q.Build(training(in), in["z"])
				loss := graph.Add(graph.ReduceAllSum(graph.Square(out.Soft)), out.Loss)
				return graph.Gradient(loss, in["z"])
			})
			if sum := dot(got[0], got[0]); sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
				t.Errorf("%s: gradient of squared size %v", method, sum)
			}
		})
		if used > limit {
			t.Errorf("%s: a step needs %d MiB", method, used>>20)
		}
		t.Logf("%s: %d MiB", method, used>>20)
	}
}

// peakMemory runs fn and returns how far the heap grew beyond its size before.
func peakMemory(fn func()) uint64 {
	runtime.GC()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, done, peak := heap(), make(chan struct{}), make(chan uint64)
	go func() {
		most := before
		for {
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(2 * time.Millisecond):
				most = max(most, heap())
			}
		}
	}()
	fn()
	close(done)
	return <-peak - before
}

// Started from data, one level of each method leaves less of Gaussian latents
// than the best single point would, and levels leave less and less.
func TestLevelsStartWithLessAndLessLeft(t *testing.T) {
	for _, method := range []string{"simvq", "fsq", "lfq", "rqvae", "kmeans-ste"} {
		c := mustDefaults(t, method)
		c.Codes, c.Levels, c.Parts = 64, 3, 1
		q, err := New(c, 7) // not the width of a code: projected
		if err != nil {
			t.Fatal(err)
		}
		rng := newRand(3)
		rows := weights.Normal(rng, 2, 600, 7)
		for i := range rows.Data {
			rows.Data[i] += 3
		}
		set, err := q.Init(Sample{Rows: rows.Data, N: 600, Dim: 7}, rng)
		if err != nil {
			t.Fatal(err)
		}
		f := fixture{q: q, set: set, z: widen(rows)}
		left := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			out := q.Build(ctx, z)
			return append(out.Residuals[1:], graph.Sub(z, out.Hard))
		})
		before := 2 * math.Sqrt(600*7)
		for l, rest := range left {
			after := math.Sqrt(dot(rest, rest))
			if !(after < 0.93*before) {
				t.Errorf("%s level %d: %.1f left of %.1f", method, l, after, before)
			}
			before = after
		}
	}
}

// gradients32 is [gradients] in float32, the product's precision, with the
// quantizer's loss at full weight.
func gradients32(t *testing.T, f fixture, weight gradtest.Value) map[string][]float64 {
	t.Helper()
	in := f.inputs()
	in["weight"] = weight
	return gradtest.Autodiff[float32](t, in, func(nodes map[string]*graph.Node) *graph.Node {
		out := f.q.Build(training(nodes), nodes["z"])
		return graph.Add(graph.ReduceAllSum(graph.Mul(out.Soft, nodes["weight"])), out.Loss)
	})
}
