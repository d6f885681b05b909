package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// STE's loss is Σ over levels of mse(ẑ, sg z) + β mse(z, sg ẑ): β multiplies
// the encoder's term and nothing else. Levels: the residual's latent side keeps
// its gradient, so the encoder receives β times every level's term.
func TestSTELosses(t *testing.T) {
	const n, d = 9, 3
	for _, beta := range []float64{0.25, 3} {
		c := small(t, "ste", 2)
		c.Loss.Commitment = beta
		f := newFixture(t, c, d, n)
		got := gradients(t, f, gradtest.Value{Shape: []int{n, d}, Data: make([]float64, n*d)}, 1)
		in := f.inputs()
		value := gradtest.Eval[float64](t, in, func(in map[string]*graph.Node) []*graph.Node {
			return []*graph.Node{f.q.Build(training(in), in["z"]).Loss}
		})[0][0]

		var loss float64
		encoder := make([]float64, n*d)
		codes := map[string][]float64{"level0": make([]float64, 6*d), "level1": make([]float64, 6*d)}
		for i := range n {
			rest := append([]float64(nil), f.z.Data[i*d:(i+1)*d]...)
			for _, level := range []string{"level0", "level1"} {
				book := matrix{in[level+"/codes"].Data, d}
				at := nearest(rest, book)
				for j, code := range book.row(at) {
					rest[j] -= code // now r - e
					loss += (1 + beta) * rest[j] * rest[j] / (n * d)
					encoder[i*d+j] += beta * 2 * rest[j] / (n * d)
					codes[level][at*d+j] -= 2 * rest[j] / (n * d)
				}
			}
		}
		gradtest.Close(t, "loss", []float64{value}, []float64{loss}, 1e-9)
		gradtest.Close(t, "encoder", got["z"], encoder, 1e-9)
		for level, want := range codes {
			gradtest.Close(t, level, got[level+"/codes"], want, 1e-9)
		}
	}
}

// GRIT's defaults need no auxiliary loss: none reaches the encoder unless its
// weight is set.
func TestUnweightedLossesAreAbsent(t *testing.T) {
	c := small(t, "grit", 2)
	c.Loss.Codebook, c.Loss.Commitment, c.Loss.Usage, c.Loss.AttentionEntropy = 0, 0, 0, 0
	f := newFixture(t, c, 3, 5)
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node { return []*graph.Node{f.q.Build(ctx, z).Loss} })
	sameBits(t, "loss", got[0], []float64{0})
}

// underuseFixture quantizes n latents to 6 codes, two of them far away.
func underuseFixture(t *testing.T, threshold float64) fixture {
	c := small(t, "ste", 1)
	c.Loss.Codebook, c.Loss.Commitment, c.Loss.Usage = 0, 0, 2
	c.Loss.UsageThreshold, c.Loss.UsageSoftness = threshold, 0.8
	f := newFixture(t, c, 3, 24)
	for _, code := range []int{1, 4} {
		for j := range 3 {
			f.set["level0/codes"].Row(code)[j] = float32(4 + code + j)
		}
	}
	return f
}

// The regulariser's value is Σ max(0, τ/K - count/N) over hard counts.
func TestUnderuseCountsHardAssignments(t *testing.T) {
	const threshold = 0.9
	f := underuseFixture(t, threshold)
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
		out := f.q.Build(ctx, z)
		return []*graph.Node{out.Loss, out.Index}
	})
	counts := make([]float64, 6)
	for _, code := range got[1] {
		counts[int(code)]++
	}
	want := 0.0
	for _, n := range counts {
		want += 2 * math.Max(0, threshold/6-n/24)
	}
	if counts[1] != 0 || counts[4] != 0 || want < 2*2*threshold/6 {
		t.Fatalf("the fixture has counts %v", counts)
	}
	gradtest.Close(t, "value", got[0], []float64{want}, 1e-5)
}

// Tiny thresholds (large K) must not drown in rounding.
func TestUnderuseOfManyCodes(t *testing.T) {
	c := small(t, "ste", 1)
	c.Codes = 4096
	c.Loss.Codebook, c.Loss.Commitment, c.Loss.Usage, c.Loss.UsageThreshold = 0, 0, 1, 0.01
	f := newFixture(t, c, 3, 2)
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node { return []*graph.Node{f.q.Build(ctx, z).Loss} })
	gradtest.Close(t, "value", got[0], []float64{4094 * 0.01 / 4096}, 1e-3)
}

// Its gradient is that of the soft assignment, on the codes below the threshold
// alone.
func TestUnderuseGradientIsTheSoftAssignments(t *testing.T) {
	const threshold = 0.9
	f := underuseFixture(t, threshold)
	got := gradients(t, f, gradtest.Value{Shape: []int{24, 3}, Data: make([]float64, 72)}, 1)
	in := f.inputs()
	base := matrix{append([]float64(nil), in["level0/codes"].Data...), 3}
	counts, gap := make([]float64, 6), 0.0
	for i := range 24 {
		z := f.z.Data[i*3 : (i+1)*3]
		at := nearest(z, base)
		counts[at]++
		gap += math.Pow(distance(z, base.row(at)), 2) / 24
	}
	soft := func(in gradtest.Inputs) float64 { // Σ over starved codes of -p̃
		book, total := matrix{in["level0/codes"].Data, 3}, 0.0
		for i := range 24 {
			z := in["z"].Data[i*3 : (i+1)*3]
			var weights [6]float64
			sum := 0.0
			for k := range weights {
				weights[k] = math.Exp(-math.Pow(distance(z, book.row(k)), 2) / (0.8 * gap))
				sum += weights[k]
			}
			for k, w := range weights {
				if counts[k]/24 < threshold/6 {
					total -= 2 * w / sum / 24
				}
			}
		}
		return total
	}
	for _, name := range []string{"z", "level0/codes"} {
		gradtest.Close(t, name, got[name], gradtest.FiniteDifference(in, name, soft), 1e-6)
	}
	if dot(got["level0/codes"][3:6], got["level0/codes"][3:6]) == 0 {
		t.Error("an unused code receives no gradient")
	}
}

func TestUnderuseIsZeroWhenEveryCodeIsUsed(t *testing.T) {
	f := underuseFixture(t, 0.9)
	copy(f.z.Data, widen(f.set["level0/codes"]).Data) // each of 24 latents on a code
	for i := 18; i < 72; i++ {
		f.z.Data[i] = f.z.Data[i-18]
	}
	got := gradients(t, f, gradtest.Value{Shape: []int{24, 3}, Data: make([]float64, 72)}, 1)
	sameBits(t, "gradient", got["level0/codes"], make([]float64, 18))
	loss := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node { return []*graph.Node{f.q.Build(ctx, z).Loss} })
	sameBits(t, "loss", loss[0], []float64{0})
}
