package vq

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// classicalMethods are all methods that are fitted at once.
var classicalMethods = slices.DeleteFunc(MethodNames(), func(method string) bool { return !Classical(method) })

// gaussianSample draws rows whose coordinates differ in scale.
func gaussianSample(seed uint64, n, dim int) Latents {
	rng := newRand(seed)
	s := Latents{Rows: weights.Normal(rng, 1, n, dim).Data, N: n, Dim: dim}
	for i := range s.Rows {
		s.Rows[i] *= 1 / float32(1+i%dim)
	}
	return s
}

// classical is a small configuration of a host-fitted method.
func classical(t testing.TB, method string, levels, parts int) Config {
	t.Helper()
	c, err := Defaults(method)
	if err != nil {
		t.Fatal(err)
	}
	c.Codes, c.Levels, c.Parts = 8, levels, parts
	return c
}

func fitted(t testing.TB, c Config, sample Latents, o FitOptions) Fitted {
	t.Helper()
	f, err := FitClassical(t.Context(), c, sample, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// reconstructionError encodes a sample greedily, in the graph, and returns the
// mean squared error over all elements.
func reconstructionError(t testing.TB, c Config, f Fitted, sample Latents) float64 {
	t.Helper()
	if f.Rotation != nil {
		sample = sample.rotate(f.Rotation)
	}
	q, err := New(c, sample.Dim)
	if err != nil {
		t.Fatal(err)
	}
	in := gradtest.Inputs{"z": widen(&weights.Array{Shape: []int{sample.N, sample.Dim}, Data: sample.Rows})}
	for p, a := range f.Variables {
		in[p] = widen(a)
	}
	return gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		out := q.Build(&Context{Vars: weights.FromNodes(nodes)}, nodes["z"])
		return []*graph.Node{graph.ReduceAllMean(graph.Square(graph.Sub(nodes["z"], out.Hard)))}
	})[0][0]
}

// A fit depends on the sample, the settings and the seed alone, does not change
// the sample, and reports its progress to the end; the last report is the error
// of the returned codes.
func TestFitIsDeterministicAndReportsItsError(t *testing.T) {
	for _, method := range classicalMethods {
		for _, levels := range []int{1, 2} {
			for _, parts := range []int{1, 2} {
				name := fmt.Sprintf("%s, levels %d, parts %d", method, levels, parts)
				c := classical(t, method, levels, parts)
				sample := gaussianSample(1, 600, 6)
				kept := slices.Clone(sample.Rows)
				var last float64
				done := 0
				run := func(seed uint64) Fitted {
					done = 0
					return fitted(t, c, sample, FitOptions{Seed: seed, Iterations: 12, Watch: func(now, total int, meanSquare float64) {
						if now < done || now > total {
							t.Fatalf("%s: %d of %d done after %d", name, now, total, done)
						}
						done, last = now, meanSquare
					}})
				}
				other, first := run(2), run(1)
				reported := last
				again := run(1)
				if !slices.Equal(sample.Rows, kept) {
					t.Errorf("%s: the sample was changed", name)
				}
				if err := first.Variables.Check(again.Variables); err != nil {
					t.Fatal(err)
				}
				same := true
				for p, a := range first.Variables {
					if !slices.Equal(a.Data, again.Variables[p].Data) {
						t.Errorf("%s: %s differs between equal fits", name, p)
					}
					same = same && slices.Equal(a.Data, other.Variables[p].Data)
				}
				if same {
					t.Errorf("%s: the seed has no effect", name)
				}
				if got := reconstructionError(t, c, first, sample); method != "rq" && math.Abs(got-reported) > 1e-4*got {
					t.Errorf("%s: the error is %g, reported was %g", name, got, reported)
				}
			}
		}
	}
}

// The quantizer starts from the codes its method fits.
func TestClassicalInitIsTheFit(t *testing.T) {
	for _, method := range []string{"kmeans", "pq", "rq", "lsh"} {
		c := classical(t, method, 2, 2)
		sample := gaussianSample(2, 300, 6)
		q, err := New(c, 6)
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.Init(sample, weights.Rand(5, "classical codes"))
		if err != nil {
			t.Fatal(err)
		}
		want := fitted(t, c, sample, FitOptions{Seed: 5}).Variables
		if err := want.Check(got); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		for p := range want {
			if !slices.Equal(got[p].Data, want[p].Data) {
				t.Errorf("%s: %s differs", method, p)
			}
		}
	}
}

func TestFitErrors(t *testing.T) {
	sample := gaussianSample(4, 100, 6)
	_, err := FitClassical(t.Context(), small(t, "ste", 1), sample, FitOptions{})
	mentions(t, err, "ste", "training steps")
	for _, method := range classicalMethods {
		_, err := FitClassical(t.Context(), classical(t, method, 1, 1), Latents{Dim: 6}, FitOptions{})
		mentions(t, err, "no vectors", method)
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if _, err := FitClassical(stopped, classical(t, method, 2, 2), sample, FitOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with an ended context: %v", method, err)
		}
		for field, change := range map[string]func(*Config){
			"quantizer.parts":        func(c *Config) { c.Parts = 7 },
			"quantizer.shared":       func(c *Config) { c.Shared = true },
			"quantizer.learn":        func(c *Config) { c.Learn = "gradient" },
			"quantizer.resets.every": func(c *Config) { c.Resets.Every = 5 },
			"quantizer.cache.period": func(c *Config) { c.Cache.Period = 2 },
		} {
			c := classical(t, method, 2, 1)
			change(&c)
			_, err := FitClassical(t.Context(), c, sample, FitOptions{})
			mentions(t, err, field)
		}
		if !Classical(method) {
			t.Errorf("%s does not count as classical", method)
		}
	}
	if Classical("ste") || Classical("no such method") {
		t.Error("ste or an unknown method counts as classical")
	}
}

// Positions go side by side for product quantizers and into levels for others:
// the bits of a vector are the same.
func TestArrange(t *testing.T) {
	for method, want := range map[string][2]int{
		"kmeans": {4, 1}, "rq": {4, 1}, "lsh": {4, 1}, "ste": {4, 1}, "pq": {1, 4}, "opq": {1, 4}, "kmeans-ste": {1, 4},
	} {
		c := mustDefaults(t, method)
		c.Arrange(4, 1)
		if got := [2]int{c.Levels, c.Parts}; got != want {
			t.Errorf("%s: %v levels and parts, want %v", method, got, want)
		}
		q, err := New(c, 16)
		if err != nil {
			t.Fatal(err)
		}
		if n := q.Layout().Positions(); n != 4 {
			t.Errorf("%s: %d positions, want 4", method, n)
		}
	}
}
