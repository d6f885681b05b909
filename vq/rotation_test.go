package vq

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// rotationMatrix is |ẑ|/|z| · (I - 2wwᵀ + 2quᵀ) in plain loops.
func rotationMatrix(z, hard []float64) [][]float64 {
	d := len(z)
	from, to := math.Sqrt(dot(z, z)), math.Sqrt(dot(hard, hard))
	u, q, w := make([]float64, d), make([]float64, d), make([]float64, d)
	for j := range d {
		u[j], q[j] = z[j]/from, hard[j]/to
		w[j] = u[j] + q[j]
	}
	length := math.Sqrt(dot(w, w))
	m := make([][]float64, d)
	for i := range m {
		m[i] = make([]float64, d)
		for j := range d {
			m[i][j] = 2*q[i]*u[j] - 2*w[i]*w[j]/(length*length)
			if i == j {
				m[i][j]++
			}
			m[i][j] *= to / from
		}
	}
	return m
}

// The forward value is the code, which the matrix indeed turns the latent into;
// the encoder's gradient is that of the matrix held fixed; codes receive nothing
// from the decoder. For one level and for the sum of three.
func TestRotationFormula(t *testing.T) {
	const n, d = 9, 4
	for _, levels := range []int{1, 3} {
		c := small(t, "rotation", levels)
		c.Loss.Codebook, c.Loss.Commitment = 0, 0
		f := newFixture(t, c, d, n)
		weight := random(newRand(8), n, d)
		in := f.inputs()
		values := gradtest.Eval[float64](t, in, func(in map[string]*graph.Node) []*graph.Node {
			out := f.q.Build(training(in), in["z"])
			return []*graph.Node{out.Hard, out.Soft}
		})
		sameBits(t, "forward", values[1], values[0])
		hard := matrix{values[0], d}
		matrices := make([][][]float64, n)
		for i := range n {
			matrices[i] = rotationMatrix(f.z.Data[i*d:(i+1)*d], hard.row(i))
		}
		surrogate := func(in gradtest.Inputs) []float64 {
			out := make([]float64, n*d)
			for i, m := range matrices {
				for j := range d {
					out[i*d+j] = dot(m[j], in["z"].Data[i*d:(i+1)*d])
				}
			}
			return out
		}
		gradtest.Close(t, "turned latents", surrogate(in), values[0], 1e-12)
		want := gradtest.FiniteDifference(in, "z", func(in gradtest.Inputs) float64 { return dot(surrogate(in), weight.Data) })
		exact := gradients(t, f, weight, 0)
		_, single := noisyGradients[float32](t, f, weight)
		gradtest.Close(t, "latent", exact["z"], want, 1e-6)
		gradtest.Close(t, "latent in float32", single["z"], want, 1e-3)
		for l := range levels {
			sameBits(t, "codes", exact[fmt.Sprintf("level%d/codes", l)], make([]float64, 6*d))
		}
	}
}

// At antipodal points, and where a vector is zero, no rotation is defined:
// gradients pass straight through and stay finite. Beside them, and just before
// the antipode, rows are turned as ever.
func TestRotationAtAntipodalPoints(t *testing.T) {
	in := gradtest.Inputs{
		"z":    {Shape: []int{6, 2}, Data: []float64{1, 2, 3e4, -1e4, 0, 0, 1, 1, 1, 0.5, 1, 0}},
		"code": {Shape: []int{6, 2}, Data: []float64{-0.5, -1, -6, 2, 2, 1, 0, 0, 0.5, 1, -0.5, 0.01}},
		"g":    random(newRand(3), 6, 2),
	}
	for name, gradient := range map[string]func(gradtest.Function) map[string][]float64{
		"float32": func(fn gradtest.Function) map[string][]float64 { return gradtest.Autodiff[float32](t, in, fn) },
		"float64": func(fn gradtest.Function) map[string][]float64 { return gradtest.Autodiff[float64](t, in, fn) },
	} {
		got := gradient(func(in map[string]*graph.Node) *graph.Node {
			return graph.ReduceAllSum(graph.Mul(rotated{}.Connect(nil, in["z"], in["code"], nil), in["g"]))
		})
		g := in["g"].Data
		bits32(t, name+" undefined rotations", got["z"][:8], g[:8])
		for row := 4; row < 6; row++ {
			at := row * 2
			m := rotationMatrix(in["z"].Data[at:at+2], in["code"].Data[at:at+2])
			want := []float64{m[0][0]*g[at] + m[1][0]*g[at+1], m[0][1]*g[at] + m[1][1]*g[at+1]}
			gradtest.Close(t, fmt.Sprintf("%s row %d", name, row), got["z"][at:at+2], want, 1e-4)
		}
		sameBits(t, name+" code", got["code"], make([]float64, 12))
	}
	forward := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{rotated{}.Connect(nil, in["z"], in["code"], nil), in["code"]}
	})
	sameBits(t, "forward", forward[0], forward[1])
}

// bits32 is [bits] after rounding to float32.
func bits32(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range got {
		if float32(got[i]) != float32(want[i]) {
			t.Fatalf("%s: element %d is %v, want exactly %v", what, i, got[i], want[i])
		}
	}
}

// Codes learn by the codebook loss and latents by the commitment loss, at the
// configured weights.
func TestRotationLosses(t *testing.T) {
	const n, d = 9, 3
	c := small(t, "rotation", 1)
	if c.Loss.Codebook != 1 || c.Loss.Commitment != 1 {
		t.Fatalf("default weights %+v", c.Loss)
	}
	f := newFixture(t, c, d, n)
	got := gradients(t, f, gradtest.Value{Shape: []int{n, d}, Data: make([]float64, n*d)}, 1)
	codes := matrix{f.inputs()["level0/codes"].Data, d}
	latent, code := make([]float64, n*d), make([]float64, 6*d)
	for i := range n {
		z := f.z.Data[i*d : (i+1)*d]
		at := nearest(z, codes)
		for j, x := range codes.row(at) {
			latent[i*d+j] += 2 * (z[j] - x) / (n * d)
			code[at*d+j] -= 2 * (z[j] - x) / (n * d)
		}
	}
	gradtest.Close(t, "latent", got["z"], latent, 1e-9)
	gradtest.Close(t, "codes", got["level0/codes"], code, 1e-9)
}
