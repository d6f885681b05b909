package vq

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// pushed is the surrogate z + |ẑ - z|·direction over plain float64, with the
// choice of codes and the direction [n,d] held fixed.
type pushed struct {
	levels    []string
	chosen    [][]int
	direction []float64
	d         int
}

// newPushed chooses codes level by level; the caller sets the direction from
// the gap it is given.
func newPushed(in gradtest.Inputs, levels int, direction func(row int, gap []float64) []float64) *pushed {
	z := in["z"]
	p := &pushed{d: z.Shape[1]}
	rest := append([]float64(nil), z.Data...)
	for l := range levels {
		level := fmt.Sprintf("level%d/codes", l)
		codes, chosen := matrix{in[level].Data, p.d}, make([]int, z.Shape[0])
		for i := range chosen {
			row := rest[i*p.d : (i+1)*p.d]
			chosen[i] = nearest(row, codes)
			for j, x := range codes.row(chosen[i]) {
				row[j] -= x
			}
		}
		p.levels, p.chosen = append(p.levels, level), append(p.chosen, chosen)
	}
	for i := range z.Shape[0] {
		gap := make([]float64, p.d) // ẑ - z
		for j := range gap {
			gap[j] = -rest[i*p.d+j]
		}
		p.direction = append(p.direction, direction(i, gap)...)
	}
	return p
}

// value is z_q [n,d].
func (p *pushed) value(in gradtest.Inputs) []float64 {
	out := append([]float64(nil), in["z"].Data...)
	for i := range len(out) / p.d {
		squared := 0.0
		for j := range p.d {
			gap := -in["z"].Data[i*p.d+j]
			for l, level := range p.levels {
				gap += in[level].Data[p.chosen[l][i]*p.d+j]
			}
			squared += gap * gap
		}
		for j := range p.d {
			out[i*p.d+j] += math.Sqrt(squared) * p.direction[i*p.d+j]
		}
	}
	return out
}

func unit(v []float64) []float64 {
	length := math.Sqrt(dot(v, v))
	out := make([]float64, len(v))
	for i := range v {
		out[i] = v[i] / length
	}
	return out
}

// noisyGradients are values of z_q, and the gradients of Σ weight·z_q, in a step
// with the noise of [seeded].
func noisyGradients[T gradtest.Float](t *testing.T, f fixture, weight gradtest.Value) (soft []float64, gradients map[string][]float64) {
	t.Helper()
	in := f.inputs()
	names := in.Names()
	in["weight"] = weight
	values := gradtest.Eval[T](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		ctx := training(nodes)
		ctx.Random = seeded(nodes["z"])
		out := f.q.Build(ctx, nodes["z"])
		var wrt []*graph.Node
		for _, name := range names {
			wrt = append(wrt, nodes[name])
		}
		total := graph.Add(graph.ReduceAllSum(graph.Mul(out.Soft, nodes["weight"])), out.Loss)
		return append(graph.Gradient(total, wrt...), out.Soft)
	})
	gradients = map[string][]float64{}
	for i, name := range names {
		gradients[name] = values[i]
	}
	return values[len(names)], gradients
}

// drawnNormals is the noise [seeded] draws first, for z in type T.
func drawnNormals[T gradtest.Float](t *testing.T, f fixture) matrix {
	noise := gradtest.Eval[T](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{seeded(in["z"]).Normal(in["z"])}
	})[0]
	return matrix{noise, f.z.Shape[1]}
}

// checkPushed compares forward values and gradients of latents and codes with
// the surrogate's finite differences.
func checkPushed[T gradtest.Float](t *testing.T, name string, f fixture, p *pushed, tolerance float64) {
	t.Helper()
	in := f.inputs()
	weight := random(newRand(12), f.z.Shape...)
	soft, got := noisyGradients[T](t, f, weight)
	gradtest.Close(t, name+" forward", soft, p.value(in), tolerance)
	for _, v := range append([]string{"z"}, p.levels...) {
		want := gradtest.FiniteDifference(in, v, func(in gradtest.Inputs) float64 { return dot(p.value(in), weight.Data) })
		gradtest.Close(t, name+" "+v, got[v], want, tolerance)
	}
}

// z_q = z + |ẑ - z|·v/|v|, for one level and, with one surrogate on the sum, for
// three; latents and codes learn through the length.
func TestNSVQFormula(t *testing.T) {
	for _, levels := range []int{1, 3} {
		f := newFixture(t, small(t, "nsvq", levels), 3, 9)
		exact, single := drawnNormals[float64](t, f), drawnNormals[float32](t, f)
		from := func(noise matrix) *pushed {
			return newPushed(f.inputs(), levels, func(row int, _ []float64) []float64 { return unit(noise.row(row)) })
		}
		checkPushed[float64](t, "nsvq", f, from(exact), 1e-6)
		checkPushed[float32](t, "nsvq in float32", f, from(single), 1e-3)
	}
}

// The error keeps its length, and its direction is uniform: every coordinate of
// the unit vector has mean 0 and variance 1/d.
func TestNSVQNoiseIsIsotropicAndAsLongAsTheError(t *testing.T) {
	const n, d = 4000, 3
	f := newFixture(t, small(t, "nsvq", 1), d, n)
	got := gradtest.Eval[float32](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
		out := f.q.Build(noisyStep(in, 1), in["z"])
		return []*graph.Node{out.Soft, out.Hard}
	})
	var mean, square [d]float64
	for i := range n {
		z, soft, hard := f.z.Data[i*d:(i+1)*d], got[0][i*d:(i+1)*d], got[1][i*d:(i+1)*d]
		length, moved := distance(z, hard), distance(z, soft)
		if math.Abs(moved-length) > 1e-5*(1+length) {
			t.Fatalf("row %d moved by %g, its error is %g", i, moved, length)
		}
		for j := range d {
			x := (soft[j] - z[j]) / moved
			mean[j] += x / n
			square[j] += x * x / n
		}
	}
	for j := range d {
		if math.Abs(mean[j]) > 5/math.Sqrt(3*n) || math.Abs(square[j]-1./d) > 5*0.3/math.Sqrt(n) {
			t.Errorf("coordinate %d of the direction has mean %.3f and square %.3f", j, mean[j], square[j])
		}
	}
}

// A latent on its code has no gap and a finite gradient: its own.
func TestNoGapNoPull(t *testing.T) {
	for _, method := range []string{"nsvq", "diveq", "sf-diveq"} {
		for _, noise := range []float64{0, 1e-3} {
			c := small(t, method, 1)
			c.Noise = noise
			f := newFixture(t, c, 3, 6)
			copy(f.z.Data, f.inputs()["level0/codes"].Data)
			weight := random(newRand(2), 6, 3)
			soft, got := noisyGradients[float64](t, f, weight)
			for name, gradient := range got {
				if sum := dot(gradient, gradient); math.IsNaN(sum) || math.IsInf(sum, 0) {
					t.Errorf("%s: gradient of %s is %v", method, name, gradient)
				}
			}
			if method != "sf-diveq" { // its target lies on a segment, not on the code
				sameBits(t, method+" forward", soft, f.z.Data)
				sameBits(t, method+" gradient", got["z"], weight.Data)
				sameBits(t, method+" codes", got["level0/codes"], make([]float64, 18))
			}
		}
	}
}
