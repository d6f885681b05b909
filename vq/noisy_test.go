package vq

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// withSurrogates are the methods with a surrogate of their own in training, most of
// them noisy, in the compositions that differ.
func withSurrogates(t *testing.T) map[string]Config {
	cases := map[string]Config{}
	for _, method := range []string{"rotation", "nsvq", "diveq", "sf-diveq"} {
		for _, levels := range []int{1, 3} {
			for _, parts := range []int{1, 2} {
				c := small(t, method, levels)
				c.Parts = parts
				cases[fmt.Sprintf("%s levels %d parts %d", method, levels, parts)] = c
			}
		}
	}
	return cases
}

// noisyStep resolves variables to named inputs, with the noise of a seed.
func noisyStep(in map[string]*graph.Node, seed int64) *Context {
	ctx := training(in)
	ctx.Random = NewRandom(graph.RNGStateFromSeedForGraph(in["z"].Graph(), seed))
	return ctx
}

// Looking codes up gives the hard output to the bit, in training and at
// inference; inference feeds it to the decoder without noise, even if a source
// of noise is at hand, and takes the nearest code; training repeats itself for
// a seed and differs between seeds where there is noise.
func TestNoiseEndsWithTraining(t *testing.T) {
	for name, c := range withSurrogates(t) {
		f := newFixture(t, c, 4, 25)
		run := func(seed int64) [][]float64 {
			return gradtest.Eval[float32](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
				ctx := noisyStep(in, seed)
				out := f.q.Build(ctx, in["z"])
				still := *ctx
				still.Training = false
				fixed := f.q.Build(&still, in["z"])
				return []*graph.Node{out.Hard, f.q.Lookup(ctx, out.Index), fixed.Hard, f.q.Lookup(ctx, fixed.Index), fixed.Soft,
					out.Index, fixed.Index, out.Soft}
			})
		}
		got, again, other := run(1), run(1), run(2)
		bits(t, name+" lookup in training", got[1], got[0])
		bits(t, name+" lookup", got[3], got[2])
		bits(t, name+" decoder's input", got[4], got[2])
		for i := range got {
			bits(t, name+" again", again[i], got[i])
		}
		bits(t, name+" inference", other[2], got[2])
		if differs := gradtest.RelativeError(other[7], got[7]) > 1e-6; differs != (c.Method != "rotation") {
			t.Errorf("%s: another seed changes the surrogate: %v", name, differs)
		}
		for _, codes := range [][]float64{got[5], got[6]} {
			for _, code := range codes {
				if code < 0 || code >= float64(c.Codes) || code != math.Trunc(code) {
					t.Fatalf("%s: code %v of %d", name, code, c.Codes)
				}
			}
		}
		in, width := f.inputs(), 4/c.Parts
		for i := range 25 {
			for part := range c.Parts {
				rest := slices.Clone(f.z.Data[i*4+part*width : i*4+(part+1)*width])
				for l := range c.Levels {
					path := fmt.Sprintf("level%d/codes", l)
					if c.Parts > 1 {
						path = fmt.Sprintf("part%d/%s", part, path)
					}
					codes := matrix{in[path].Data, width}
					want := nearest(rest, codes)
					if at := int(got[6][(i*c.Parts+part)*c.Levels+l]); at != want {
						t.Fatalf("%s row %d: code %d, the nearest is %d", name, i, at, want)
					}
					for j, x := range codes.row(want) {
						rest[j] -= x
					}
				}
			}
		}
	}
}

// What padding rows hold changes nothing: not the losses, statistics and
// gradients of the step, to the bit.
func TestPaddingOfNoisyStepsDoesNotCount(t *testing.T) {
	const used, all = 9, 13
	for name, c := range withSurrogates(t) {
		c.Loss.Codebook, c.Loss.Commitment = 0.7, 0.3
		f := newFixture(t, c, 4, all)
		weight := random(newRand(4), used, 4)
		run := func() (results [][]float64) {
			in := f.inputs()
			names := in.Names()
			in["weight"] = weight
			in["mask"] = gradtest.Value{Shape: []int{all}, Data: slices.Concat(slices.Repeat([]float64{1}, used), make([]float64, all-used))}
			return gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
				ctx := noisyStep(nodes, 5)
				ctx.Mask = nodes["mask"]
				out := f.q.Build(ctx, nodes["z"])
				soft := graph.Slice(out.Soft, graph.AxisRange(0, used))
				total := graph.Add(graph.ReduceAllSum(graph.Mul(soft, nodes["weight"])), out.Loss)
				var wrt []*graph.Node
				for _, name := range names {
					wrt = append(wrt, nodes[name])
				}
				return append(graph.Gradient(total, wrt...), soft, out.Loss, out.Stats["gap"])
			})
		}
		before := run()
		for i := used * 4; i < all*4; i++ {
			f.z.Data[i] = 3*f.z.Data[i] + 1
		}
		for i, after := range run() {
			bits(t, fmt.Sprintf("%s result %d", name, i), after, before[i])
			if dot(after, after) == 0 && i < len(before)-2 {
				t.Errorf("%s: result %d is zero", name, i)
			}
		}
	}
}

// A step over 65536 codes stays far below the 256 MiB of an [N,K] array times
// the copies that gradients need.
func TestNoisyStepsOverManyCodes(t *testing.T) {
	for _, method := range []string{"rotation", "nsvq", "diveq", "sf-diveq"} {
		c := small(t, method, 1)
		c.Codes = 1 << 16
		f := newFixture(t, c, 4, 1024)
		used := peakMemory(func() {
			got := gradtest.Eval[float32](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
				out := f.q.Build(noisyStep(in, 1), in["z"])
				loss := graph.Add(graph.ReduceAllSum(graph.Square(out.Soft)), out.Loss)
				return graph.Gradient(loss, in["z"], in["level0/codes"])
			})
			for _, gradient := range got {
				if sum := dot(gradient, gradient); !(sum > 0) || math.IsInf(sum, 0) {
					t.Errorf("%s: gradient of squared size %v", method, sum)
				}
			}
		})
		if used > 700<<20 {
			t.Errorf("%s: a step needs %d MiB", method, used>>20)
		}
	}
}

// Normal noise has mean 0, variance 1, the Gaussian's fourth moment and tails,
// and neighbours, halves and draws are uncorrelated; odd sizes work.
func TestNormalNoise(t *testing.T) {
	const n = 60001
	in := gradtest.Inputs{"z": {Shape: []int{n}, Data: make([]float64, n)}}
	got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
		r := seeded(in["z"])
		return []*graph.Node{r.Normal(in["z"]), r.Normal(in["z"])}
	})
	x, far := got[0], 0.0
	var moment [5]float64
	for _, v := range x {
		for p := range moment {
			moment[p] += math.Pow(v, float64(p)) / n
		}
		if math.Abs(v) > 1.959964 {
			far += 1. / n
		}
	}
	check := func(what string, got, want, deviation float64) {
		if math.Abs(got-want) > 5*deviation/math.Sqrt(n) {
			t.Errorf("%s is %.4f, want %.4f", what, got, want)
		}
	}
	check("mean", moment[1], 0, 1)
	check("variance", moment[2], 1, math.Sqrt(2))
	check("third moment", moment[3], 0, math.Sqrt(15))
	check("fourth moment", moment[4], 3, math.Sqrt(96))
	check("share beyond 1.96", far, 0.05, math.Sqrt(0.05*0.95))
	half := (n + 1) / 2
	check("correlation of neighbours", dot(x[1:], x[:n-1])/n, 0, 1)
	check("correlation of halves", 2*dot(x[half:], x[:n-half])/n, 0, math.Sqrt2)
	check("correlation of draws", dot(x, got[1])/n, 0, 1)
	squares := 0.0 // the two of a pair share their length and must still be independent
	for i := range n - half {
		squares += 2 * (x[i]*x[i] - 1) * (x[half+i]*x[half+i] - 1) / n
	}
	check("correlation of squares", squares, 0, 2*math.Sqrt2)
}
