package vq

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// Tokens are Σ 2^j [w_j·x > 0] of the vector itself at every table, and buckets
// decode to the means of the residuals of the tables before.
func TestLSHFollowsItsDefinition(t *testing.T) {
	const n, dim, levels = 300, 5, 3
	c := classical(t, "lsh", levels, 1)
	sample := gaussianSample(7, n, dim)
	f := fitted(t, c, sample, FitOptions{Seed: 2})
	q, err := New(c, dim)
	if err != nil {
		t.Fatal(err)
	}
	if Searchable(q) {
		t.Error("hashing is no search for the nearest code")
	}
	in := gradtest.Inputs{"z": widen(&weights.Array{Shape: []int{n, dim}, Data: sample.Rows})}
	for p, a := range f.Variables {
		in[p] = widen(a)
	}
	tokens := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{q.Build(&Context{Vars: weights.FromNodes(nodes)}, nodes["z"]).Index}
	})[0]
	rest := append([]float64(nil), in["z"].Data...)
	before := dot(rest, rest)
	for l := range levels {
		planes, codes := matrix{in[fmt.Sprintf("level%d/state/planes", l)].Data, dim}, matrix{in[fmt.Sprintf("level%d/codes", l)].Data, dim}
		if planes.rows() != 3 {
			t.Fatalf("%d hyperplanes for 8 codes", planes.rows())
		}
		sums, counts := make([]float64, 8*dim), make([]float64, 8)
		for i := range n {
			token := 0
			for j := range 3 {
				if dot(planes.row(j), in["z"].Data[i*dim:(i+1)*dim]) > 0 {
					token += 1 << j
				}
			}
			if got := tokens[i*levels+l]; got != float64(token) {
				t.Fatalf("table %d, row %d: token %v, want %d", l, i, got, token)
			}
			counts[token]++
			for j := range dim {
				sums[token*dim+j] += rest[i*dim+j]
			}
		}
		for i := range sums {
			sums[i] /= max(1, counts[i/dim])
		}
		gradtest.Close(t, fmt.Sprintf("buckets of table %d", l), codes.data, sums, 1e-6)
		for i := range n {
			for j := range dim {
				rest[i*dim+j] -= codes.row(int(tokens[i*levels+l]))[j]
			}
		}
		after := dot(rest, rest)
		if !(after < before) {
			t.Errorf("table %d does not lower the error: %g after %g", l, after, before)
		}
		before = after
	}
}

// A bit separates two vectors with the probability of their angle over π.
func TestLSHBitsSeparateByAngle(t *testing.T) {
	c := classical(t, "lsh", 400, 1)
	c.Codes = 1024
	angle := math.Pi / 3
	sample := Latents{Rows: []float32{1, 0, 0, float32(math.Cos(angle)), float32(math.Sin(angle)), 0}, N: 2, Dim: 3}
	f := fitted(t, c, sample, FitOptions{Seed: 4})
	apart, total := 0.0, 0.0
	for l := range c.Levels {
		planes := f.Variables[levelPath(l)+"/state/planes"]
		for j := range planes.Shape[0] {
			w := planes.Row(j)
			first, second := w[0] > 0, w[0]*sample.Rows[3]+w[1]*sample.Rows[4] > 0
			total++
			if first != second {
				apart++
			}
		}
	}
	want := angle / math.Pi
	if got, sigma := apart/total, math.Sqrt(want*(1-want)/total); math.Abs(got-want) > 4*sigma {
		t.Errorf("%g of %g bits separate the vectors, want %g", got, total, want)
	}
}

func TestLSHNeedsAPowerOfTwo(t *testing.T) {
	c := classical(t, "lsh", 1, 1)
	c.Codes = 100
	mentions(t, c.Validate(4), "quantizer.codes", "power of two", "64")
}

// Buckets no training vector fell into add nothing.
func TestLSHEmptyBucketsDecodeToZero(t *testing.T) {
	c := classical(t, "lsh", 1, 1)
	f := fitted(t, c, Latents{Rows: []float32{1, 2}, N: 1, Dim: 2}, FitOptions{})
	filled := 0
	codes := f.Variables["level0/codes"]
	for i := range 8 {
		if norm(codes.Row(i)) > 0 {
			filled++
		}
	}
	if filled != 1 {
		t.Errorf("one vector filled %d buckets", filled)
	}
}
