package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// tableEntropies are mean H(p(·|y)) and H(mean p) over a table of all codes,
// p = softmax(-|y-c|²/τ), of the rows with weight.
func tableEntropies(y matrix, weight []float64, temperature float64) (each, mean float64) {
	k := 1 << y.d
	average, rows := make([]float64, k), 0.0
	for _, w := range weight {
		rows += w
	}
	for n := range y.rows() {
		p, sum := make([]float64, k), 0.0
		lowest := math.Inf(1)
		for pass := range 2 {
			for code := range k {
				distance := 0.0
				for i, v := range y.row(n) {
					c := float64(2*(code>>i&1) - 1)
					distance += (v - c) * (v - c)
				}
				if pass == 0 {
					lowest = math.Min(lowest, distance)
				} else {
					p[code] = math.Exp((lowest - distance) / temperature)
					sum += p[code]
				}
			}
		}
		for code := range k {
			p[code] /= sum
			average[code] += weight[n] * p[code] / rows
			if p[code] > 0 {
				each -= weight[n] * p[code] * math.Log(p[code]) / rows
			}
		}
	}
	for _, p := range average {
		if p > 0 {
			mean -= p * math.Log(p)
		}
	}
	return each, mean
}

// The factorised entropies equal the table's, with padding and without,
// for even and odd numbers of signs, at soft and at published temperatures; so
// do their gradients.
func TestLFQEntropiesEqualTheTable(t *testing.T) {
	const n = 6
	for _, width := range []int{1, 4, 5} {
		for _, temperature := range []float64{2, 0.3, 0.01} {
			for _, masked := range []bool{false, true} {
				in := gradtest.Inputs{"y": random(newRand(uint64(width)), n, width)}
				mask := []float64{1, 1, 1, 1, 1, 1}
				if masked {
					mask[1], mask[5] = 0, 0
					in["mask"] = gradtest.Value{Shape: []int{n}, Data: mask}
				}
				build := func(nodes map[string]*graph.Node) (each, mean *graph.Node) {
					ctx := &Context{Mask: nodes["mask"]}
					logits := graph.MulScalar(nodes["y"], 4/temperature)
					return ctx.MeanOver(signEntropy(logits)), meanCodeEntropy(ctx, logits)
				}
				got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
					each, mean := build(nodes)
					gradients := graph.Gradient(graph.Sub(each, mean), nodes["y"])
					return []*graph.Node{each, mean, gradients[0]}
				})
				each, mean := tableEntropies(matrix{in["y"].Data, width}, mask, temperature)
				if math.Abs(got[0][0]-each) > 1e-9 || math.Abs(got[1][0]-mean) > 1e-9 {
					t.Errorf("%d signs, τ %g: %g and %g, the table has %g and %g", width, temperature, got[0][0], got[1][0], each, mean)
				}
				if temperature < 0.1 {
					continue // the table's own differences drown in rounding
				}
				want := gradtest.FiniteDifference(in, "y", func(in gradtest.Inputs) float64 {
					each, mean := tableEntropies(matrix{in["y"].Data, width}, mask, temperature)
					return each - mean
				})
				gradtest.Close(t, "gradient", got[2], want, 1e-6)
			}
		}
	}
}

// At the published temperature far and near coordinates alike give finite
// float32 losses and gradients.
func TestLFQEntropyIsFinite(t *testing.T) {
	in := gradtest.Inputs{"y": {Shape: []int{4, 3}, Data: []float64{0, 1e-9, -1e-4, 1, -1, 30, 1e6, -1e6, 0.01, -0.02, 0.5, 0}}}
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		logits := graph.MulScalar(nodes["y"], 400)
		loss := graph.Sub(graph.ReduceAllMean(signEntropy(logits)), meanCodeEntropy(&Context{}, logits))
		return append(graph.Gradient(loss, nodes["y"]), loss)
	})
	for _, values := range got {
		for _, x := range values {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Fatalf("got %v", got)
			}
		}
	}
	if dot(got[0], got[0]) == 0 {
		t.Error("no gradient near the thresholds")
	}
}

// Without a projection codes are the signs of latents, level l of size 2^-l,
// numbered with the first sign as the lowest bit; the loss is the commitment to
// the signs plus the weighted entropies.
func TestLFQFormula(t *testing.T) {
	const n, d = 12, 3
	c := small(t, "lfq", 2)
	c.Codes, c.Entropy.Temperature, c.Entropy.Weight = 8, 0.5, 0.1
	f := newFixture(t, c, d, n)
	copy(f.z.Data, []float64{0, math.Copysign(0, -1), 2}) // zero of either sign is not positive
	got := gradtest.Eval[float64](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
		out := f.q.Build(training(in), in["z"])
		return []*graph.Node{out.Hard, out.Index, out.Loss}
	})
	rest := matrix{append([]float64(nil), f.z.Data...), d}
	hard, loss := make([]float64, n*d), 0.0
	weight := make([]float64, n)
	for l, size := range []float64{1, 0.5} {
		y := matrix{make([]float64, n*d), d}
		for r := range n {
			weight[r] = 1
			code := 0
			for i := range d {
				at := r*d + i
				y.data[at] = rest.data[at] / size
				s := -1.0
				if y.data[at] > 0 {
					s, code = 1, code|1<<i
				}
				loss += 0.25 * (y.data[at] - s) * (y.data[at] - s) / (n * d)
				hard[at] += s * size
				rest.data[at] -= s * size
			}
			if got[1][r*2+l] != float64(code) {
				t.Errorf("row %d level %d: code %v, want %d", r, l, got[1][r*2+l], code)
			}
		}
		each, mean := tableEntropies(y, weight, 0.5)
		loss += 0.1 * (each - mean)
	}
	gradtest.Close(t, "hard", got[0], hard, 1e-12)
	gradtest.Close(t, "loss", got[2], []float64{loss}, 1e-9)
}

// Projected, alone and residual: gradients of the decoder's loss, the commitment
// and the entropies are finite differences of the surrogate over the table.
func TestLFQGradients(t *testing.T) {
	for _, levels := range [][]string{{"level0"}, {"level0", "level1"}} {
		c := small(t, "lfq", len(levels))
		c.Codes, c.Entropy.Temperature, c.Entropy.Weight = 8, 2, 0.7
		const n = 7
		f := newFixture(t, c, 5, n)
		one := make([]float64, n)
		for i := range one {
			one[i] = 1
		}
		s := implicitSurrogate{
			levels: levels,
			bound:  func(_ int, y float64) float64 { return y },
			round:  func(_ int, b float64) float64 { return math.Copysign(1, b) },
			unit:   func(int) float64 { return 1 },
			loss: func(y, codes matrix) float64 {
				each, mean := tableEntropies(y, one, 2)
				total := 0.7 * (each - mean)
				for at, v := range y.data {
					gap := v - math.Copysign(1, codes.data[at])
					total += 0.25 * gap * gap / float64(len(y.data))
				}
				return total
			},
		}
		s.check(t, f)
	}
}

func TestLFQNeedsAPowerOfTwo(t *testing.T) {
	for _, codes := range []int{3, 100, 240} {
		c := mustDefaults(t, "lfq")
		c.Codes = codes
		mentions(t, c.Validate(8), "quantizer.codes", "power of two")
	}
	c := mustDefaults(t, "lfq")
	c.Entropy.Temperature = 0
	mentions(t, c.Validate(8), "quantizer.entropy")
}
