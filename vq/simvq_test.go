package vq

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// simCodes is E Wᵀ + b in plain loops.
func simCodes(in gradtest.Inputs, level string) matrix {
	e, w, b := in[level+"/codes"], in[level+"/feature/w"], in[level+"/feature/bias"]
	k, d := e.Shape[0], e.Shape[1]
	out := matrix{make([]float64, k*d), d}
	for i := range k {
		for j := range d {
			out.row(i)[j] = b.Data[j] + dot(e.Data[i*d:(i+1)*d], w.Data[j*d:(j+1)*d])
		}
	}
	return out
}

// Codes are the nearest rows of C' = E Wᵀ + b, decoded from C' and not from E;
// the decoder's gradient goes to the latent alone, W and b follow the codebook
// loss, and β weighs the encoder's term.
func TestSimVQFormula(t *testing.T) {
	const n, d = 9, 3
	for _, levels := range []int{1, 2} {
		c := small(t, "simvq", levels)
		f := newFixture(t, c, d, n)
		weight := random(newRand(7), n, d)
		in := f.inputs()
		got := gradtest.Eval[float64](t, in, func(in map[string]*graph.Node) []*graph.Node {
			out := f.q.Build(training(in), in["z"])
			return []*graph.Node{out.Hard, out.Loss}
		})
		loss, hard, latent := 0.0, make([]float64, n*d), append([]float64(nil), weight.Data...)
		want := gradtest.Inputs{}
		for l := range levels {
			level := fmt.Sprintf("level%d", l)
			want[level+"/feature/w"] = gradtest.Value{Data: make([]float64, d*d)}
			want[level+"/feature/bias"] = gradtest.Value{Data: make([]float64, d)}
			codes := simCodes(in, level)
			for r := range n {
				rest := make([]float64, d)
				for j := range rest {
					rest[j] = f.z.Data[r*d+j] - hard[r*d+j]
				}
				at := nearest(rest, codes)
				for j, x := range codes.row(at) {
					gap := rest[j] - x
					loss += 1.25 * gap * gap / (n * d)
					latent[r*d+j] += 0.25 * 2 * gap / (n * d)
					pull := -2 * gap / (n * d)
					want[level+"/feature/bias"].Data[j] += pull
					for i := range d {
						want[level+"/feature/w"].Data[j*d+i] += pull * in[level+"/codes"].Data[at*d+i]
					}
				}
				for j, x := range codes.row(at) {
					hard[r*d+j] += x
				}
			}
		}
		gradtest.Close(t, "hard", got[0], hard, 1e-12)
		gradtest.Close(t, "loss", got[1], []float64{loss}, 1e-9)
		want["z"] = gradtest.Value{Data: latent}
		exact, single := gradients(t, f, weight, 1), gradients32(t, f, weight)
		for name, value := range want {
			gradtest.Close(t, name, exact[name], value.Data, 1e-9)
			gradtest.Close(t, name+" in float32", single[name], value.Data, 1e-3)
		}
	}
}

// E stays as it was drawn, with standard deviation d^-½; W and b learn.
func TestSimVQCodesAreFrozenGaussians(t *testing.T) {
	c := mustDefaults(t, "simvq")
	c.Codes, c.Levels, c.Start.From = 2000, 1, "random"
	q, sample, set := startFixture(t, c, 16, 100)
	if !Frozen(q, weights.Codes) || Frozen(q, weights.Feature) {
		t.Error("the wrong parameters are frozen")
	}
	codes := widen(set["level0/codes"]).Data
	gradtest.Close(t, "deviation", []float64{math.Sqrt(dot(codes, codes) / float64(len(codes)))}, []float64{0.25}, 0.02)
	// The letter: W = I, b = 0.
	gradtest.Close(t, "usable", simCodes(fixture{set: set}.inputs(), "level0").data, codes, 1e-6)
	if !Searchable(q) || sample.N != 100 {
		t.Error("nearest-code search finds SimVQ's codes")
	}
}

// From data, codes have the latents' mean, and along every axis the variance
// σ²-θ left by the distortion θ that log₂ K bits can reach.
func TestSimVQStartsAsTheBestGaussianCodebook(t *testing.T) {
	rng := newRand(6)
	deviation := []float64{4, 2, 1, 0.01}
	rows := weights.New(4000, 4)
	for i := range rows.Data {
		rows.Data[i] = float32(7 + deviation[i%4]*rng.NormFloat64())
	}
	c := mustDefaults(t, "simvq")
	c.Codes, c.Levels = 4096, 1
	q, err := New(c, 4)
	if err != nil {
		t.Fatal(err)
	}
	set, err := q.Init(Latents{Rows: rows.Data, N: 4000, Dim: 4}, rng)
	if err != nil {
		t.Fatal(err)
	}
	codes := simCodes(fixture{set: set}.inputs(), "level0")
	// 12 bits over 4, 2 and 1: θ³ = 16·4·1/2²⁴, θ = 2^-6.
	for j, s := range deviation {
		mean, square := 0.0, 0.0
		for i := range 4096 {
			mean += codes.row(i)[j] / 4096
			square += math.Pow(codes.row(i)[j]-7, 2) / 4096
		}
		if want := math.Sqrt(max(0, s*s-1./64)); math.Abs(mean-7) > 0.2 || math.Abs(math.Sqrt(square)-want) > 0.05*s+0.02 {
			t.Errorf("axis %d: mean %.3g and deviation %.3g, want 7 and %.3g", j, mean, math.Sqrt(square), want)
		}
	}
	for _, bits := range []float64{1, 8, 40} {
		total, coded := 0.0, codedDeviations(deviation, bits)
		for j, s := range deviation {
			if left := s*s - coded[j]*coded[j]; left > 0 {
				total += 0.5 * math.Log2(s*s/left)
			}
		}
		gradtest.Close(t, "bits", []float64{total}, []float64{bits}, 1e-6)
	}
	gradtest.Close(t, "no spread", codedDeviations([]float64{0, 0}, 8), []float64{0, 0}, 0)
}
